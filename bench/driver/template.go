package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/service/metrics/v3"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"activescale.dev/bench/internal/capture"
)

// Field numbers of envoy.service.metrics.v3.StreamMetricsMessage and io.prometheus.client.
const (
	messageIdentifier = 1
	messageFamily     = 2
	familyName        = 1
	familyMetric      = 4
	metricGauge       = 2
	metricTimestamp   = 6
	gaugeValue        = 1
)

// timestampBytes is the length of a varint of milliseconds since 1970 for dates from 2004 to 2109.
const timestampBytes = 6

// template is one recorded message with the places to write in: rendering it costs a copy, so that
// the driver leaves the processor to the server it measures.
type template struct {
	data       []byte
	timestamps []int // offsets of timestamp_ms varints
	inbound    []int // offsets of the little-endian doubles of the inbound request gauge
	pool       sync.Pool
}

// newTemplate finds the places to write in message.
func newTemplate(message []byte) (*template, error) {
	t := &template{data: message}
	err := eachField(message, 0, func(number protowire.Number, offset int, value []byte) error {
		if number != messageFamily {
			return nil
		}
		return t.addFamily(value, offset)
	})
	if err == nil && len(t.timestamps) == 0 {
		err = errors.New("no timestamps")
	}
	return t, err
}

func (t *template) addFamily(family []byte, base int) error {
	inbound := false
	return eachField(family, base, func(number protowire.Number, offset int, value []byte) error {
		switch number {
		case familyName:
			name := string(value)
			inbound = strings.HasPrefix(name, "http.inbound_") &&
				strings.HasSuffix(name, ".downstream_rq_active")
		case familyMetric:
			return eachField(value, offset, func(number protowire.Number, offset int, value []byte) error {
				switch {
				case number == metricTimestamp && len(value) != timestampBytes:
					return fmt.Errorf("timestamp of %d bytes", len(value))
				case number == metricTimestamp:
					t.timestamps = append(t.timestamps, offset)
				case number == metricGauge && inbound:
					return t.addGauge(value, offset)
				}
				return nil
			})
		}
		return nil
	})
}

func (t *template) addGauge(gauge []byte, base int) error {
	return eachField(gauge, base, func(number protowire.Number, offset int, _ []byte) error {
		if number == gaugeValue {
			t.inbound = append(t.inbound, offset)
		}
		return nil
	})
}

// eachField calls visit with the number, the offset (from base) and the bytes of each field's
// value, those of a length-delimited one without its length.
func eachField(data []byte, base int,
	visit func(number protowire.Number, offset int, value []byte) error) error {
	for at := 0; at < len(data); {
		number, wireType, n := protowire.ConsumeTag(data[at:])
		if n < 0 {
			return protowire.ParseError(n)
		}
		at += n
		size := protowire.ConsumeFieldValue(number, wireType, data[at:])
		if size < 0 {
			return protowire.ParseError(size)
		}
		value, start := data[at:at+size], at
		if wireType == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
			start += size - len(value)
		}
		if err := visit(number, base+start, value); err != nil {
			return err
		}
		at += size
	}
	return nil
}

// render returns a copy with the given time and number of inbound active requests, to be sent once.
func (t *template) render(timestampMillis int64, inbound float64) mem.BufferSlice {
	buffer := t.Get(len(t.data))
	data := *buffer
	copy(data, t.data)
	var varint [binary.MaxVarintLen64]byte
	binary.PutUvarint(varint[:], uint64(timestampMillis))
	for _, offset := range t.timestamps {
		copy(data[offset:offset+timestampBytes], varint[:timestampBytes])
	}
	for _, offset := range t.inbound {
		binary.LittleEndian.PutUint64(data[offset:], math.Float64bits(inbound))
	}
	return mem.BufferSlice{mem.NewBuffer(buffer, t)}
}

// Get and Put make a template the mem.BufferPool of its rendered copies.
func (t *template) Get(length int) *[]byte {
	if buffer, ok := t.pool.Get().(*[]byte); ok {
		return buffer
	}
	buffer := make([]byte, length)
	return &buffer
}

func (t *template) Put(buffer *[]byte) { t.pool.Put(buffer) }

// replay is a capture ready to be sent as any pod.
type replay struct {
	node    *corev3.Node
	first   *template   // without an identifier
	flushes []*template // what follows the first message, in a cycle
}

// loadReplay prepares the capture at path.
func loadReplay(path string) (*replay, error) {
	messages, err := capture.Read(path)
	if err != nil {
		return nil, err
	}
	if len(messages) < 2 {
		return nil, fmt.Errorf("%s: %d messages, at least 2 are needed", path, len(messages))
	}
	var first metricsv3.StreamMetricsMessage
	if err := proto.Unmarshal(messages[0], &first); err != nil {
		return nil, fmt.Errorf("%s: first message: %w", path, err)
	}
	r := &replay{node: first.GetIdentifier().GetNode()}
	if r.node == nil {
		return nil, fmt.Errorf("%s: first message has no node", path)
	}
	messages[0], err = withoutIdentifier(messages[0])
	if err != nil {
		return nil, fmt.Errorf("%s: first message: %w", path, err)
	}
	for i, message := range messages {
		t, err := newTemplate(message)
		if err != nil {
			return nil, fmt.Errorf("%s: message %d: %w", path, i, err)
		}
		if i == 0 {
			r.first = t
			continue
		}
		if len(t.inbound) != 1 {
			return nil, fmt.Errorf("%s: message %d: %d inbound gauges, not 1", path, i, len(t.inbound))
		}
		r.flushes = append(r.flushes, t)
	}
	return r, nil
}

func withoutIdentifier(message []byte) ([]byte, error) {
	var result []byte
	for at := 0; at < len(message); {
		number, _, n := protowire.ConsumeField(message[at:])
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		if number != messageIdentifier {
			result = append(result, message[at:at+n]...)
		}
		at += n
	}
	return result, nil
}

// identifier returns the bytes of the identifier field that makes a stream that of pod `name` in
// the recorded namespace. Protobuf merges it with the message whose bytes follow.
func (r *replay) identifier(name string) ([]byte, error) {
	node := proto.CloneOf(r.node)
	fields := node.GetMetadata().GetFields()
	namespace := fields["NAMESPACE"].GetStringValue()
	if namespace == "" {
		return nil, errors.New("recorded node has no NAMESPACE in its metadata")
	}
	fields["NAME"] = structpb.NewStringValue(name)
	node.Id = fmt.Sprintf("sidecar~127.0.0.1~%s.%s~%[2]s.svc.cluster.local", name, namespace)
	return proto.Marshal(&metricsv3.StreamMetricsMessage{
		Identifier: &metricsv3.StreamMetricsMessage_Identifier{Node: node},
	})
}
