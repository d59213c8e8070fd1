package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"

	"activescale.dev/bench/internal/rawgrpc"
)

// pod is one Envoy as the server sees it: a connection of its own with one stream.
type pod struct {
	name       string
	replay     *replay
	connection *grpc.ClientConn
	socket     *timedConn // the connection's socket, known once the stream is open
	stream     grpc.ClientStream
	sent       int
	timestamp  int64 // of the last flush, in milliseconds since 1970
}

// openPod connects to a StreamMetrics server at address and opens a stream as pod-<index>. The
// first message is not sent yet. The clock of its flushes starts at `start`.
func openPod(ctx context.Context, address string, r *replay, index int,
	start time.Time) (*pod, error) {
	p := &pod{name: podName(index), replay: r, timestamp: start.UnixMilli()}
	sockets := make(chan *timedConn, 1)
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		socket, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		timed := &timedConn{Conn: socket, markedAt: make(chan time.Time, 1)}
		select {
		case sockets <- timed:
		default:
			socket.Close()
			return nil, errors.New("the server closed the connection")
		}
		return timed, nil
	}
	var err error
	p.connection, err = grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial),
		grpc.WithDisableRetry(), // it would keep sent messages
		grpc.WithSharedWriteBuffer(true),
		grpc.WithReadBufferSize(4096),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawgrpc.Codec{}), grpc.WaitForReady(true)))
	if err != nil {
		return nil, err
	}
	// Both directions are streams, so that a server may end without a response message.
	description := &grpc.StreamDesc{
		StreamName: "StreamMetrics", ClientStreams: true, ServerStreams: true,
	}
	p.stream, err = p.connection.NewStream(ctx, description, rawgrpc.Method)
	if err != nil {
		p.connection.Close()
		return nil, fmt.Errorf("%s: open stream: %w", p.name, err)
	}
	p.socket = <-sockets
	return p, nil
}

func podName(index int) string { return fmt.Sprintf("web-%d", index) }

// flush sends the next recorded message with `inbound` active requests, its timestamp one
// millisecond or more after the last one's. It blocks while the server does not read.
func (p *pod) flush(inbound float64) error {
	p.timestamp++
	var message mem.BufferSlice
	if p.sent == 0 {
		identifier, err := p.replay.identifier(p.name)
		if err != nil {
			return err
		}
		message = append(mem.BufferSlice{mem.SliceBuffer(identifier)},
			p.replay.first.render(p.timestamp, inbound)...)
	} else {
		flushes := p.replay.flushes
		message = flushes[(p.sent-1)%len(flushes)].render(p.timestamp, inbound)
	}
	p.sent++
	if err := p.stream.SendMsg(message); err != nil {
		return p.failure(err)
	}
	return nil
}

// flushNow is flush with the present as its timestamp.
func (p *pod) flushNow(inbound float64) error {
	p.timestamp = max(p.timestamp, time.Now().UnixMilli()-1)
	return p.flush(inbound)
}

// finish ends the stream and returns when the server has read all of it, with an error unless its
// status is OK.
func (p *pod) finish() error {
	if err := p.stream.CloseSend(); err != nil {
		return err
	}
	return p.failure(nil)
}

// failure returns the status with which the server ended the stream, nil for OK, or err where it
// is another one than "ended".
func (p *pod) failure(err error) error {
	if err != nil && err != io.EOF {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	for {
		var response []byte
		switch status := p.stream.RecvMsg(&response); {
		case status == io.EOF && err == nil:
			return nil
		case status == io.EOF:
			return fmt.Errorf("%s: the server ended the stream early", p.name)
		case status != nil:
			return fmt.Errorf("%s: after %d messages: %w", p.name, p.sent, status)
		}
	}
}

func (p *pod) close() { p.connection.Close() }

// timedConn notes when a given number of bytes had been written.
type timedConn struct {
	net.Conn
	written  atomic.Int64 // bytes so far
	mark     atomic.Int64 // value of written to wait for, 0 for none
	markedAt chan time.Time
}

func (c *timedConn) Write(data []byte) (int, error) {
	n, err := c.Conn.Write(data)
	written, mark := c.written.Add(int64(n)), c.mark.Load()
	if mark != 0 && written >= mark && c.mark.CompareAndSwap(mark, 0) {
		c.markedAt <- time.Now()
	}
	return n, err
}

// markAfter asks for the time, on markedAt, when `bytes` more were written. Whoever asks receives it
// before asking again.
func (c *timedConn) markAfter(bytes int) { c.mark.Store(c.written.Load() + int64(bytes)) }
