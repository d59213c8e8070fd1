// Package rawgrpc passes StreamMetrics messages through grpc-go as bytes, without decoding them.
package rawgrpc

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// Method is the one RPC of envoy.service.metrics.v3.MetricsService.
const Method = "/envoy.service.metrics.v3.MetricsService/StreamMetrics"

// Codec hands over mem.BufferSlice values untouched. Whoever sends one gives it away.
type Codec struct{}

func (Codec) Name() string { return "proto" }

func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.(mem.BufferSlice)
	if !ok {
		return nil, fmt.Errorf("rawgrpc: cannot send %T, only mem.BufferSlice", v)
	}
	return message, nil
}

func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	message, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("rawgrpc: cannot receive into %T, only *[]byte", v)
	}
	*message = data.Materialize()
	return nil
}

// ServiceDesc describes MetricsService with handler as its StreamMetrics, for RegisterService.
func ServiceDesc(handler func(grpc.ServerStream) error) *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "envoy.service.metrics.v3.MetricsService",
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName:    "StreamMetrics",
			ClientStreams: true,
			Handler:       func(_ any, stream grpc.ServerStream) error { return handler(stream) },
		}},
	}
}
