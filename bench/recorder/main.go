// Command recorder starts a real Envoy with traffic, receives what its metrics service sink sends
// and stores the messages as a capture.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"activescale.dev/bench/internal/capture"
	"activescale.dev/bench/internal/rawgrpc"
	"google.golang.org/grpc"
)

const (
	flushInterval = 300 * time.Millisecond
	clients       = 16
	// settleFlushes follow the first message and are not kept: traffic is only starting.
	settleFlushes = 5
	maxMessage    = 32 << 20
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("recorder: ")
	envoy := flag.String("envoy", "envoy", "Envoy binary")
	out := flag.String("out", "", "capture file to write")
	clusters := flag.Int("clusters", 0, "clusters besides the one that serves the traffic")
	flushes := flag.Int("flushes", 20, "flushes to keep after the first message")
	timeout := flag.Duration("timeout", 60*time.Second, "give up after this time")
	flag.Parse()
	if *out == "" || flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	messages, err := record(ctx, *envoy, *clusters, *flushes)
	if err != nil {
		log.Fatal(err)
	}
	if err := capture.Write(*out, messages); err != nil {
		log.Fatal(err)
	}
	sizes := make([]int, 0, *flushes)
	for _, message := range messages[1:] {
		sizes = append(sizes, len(message))
	}
	slices.Sort(sizes)
	fmt.Printf("%s: first message %d bytes, then %d flushes of %d to %d bytes, median %d\n",
		*out, len(messages[0]), len(sizes), sizes[0], sizes[len(sizes)-1], sizes[len(sizes)/2])
}

// record returns the first message of one Envoy's stream and `flushes` later ones.
func record(ctx context.Context, envoy string, clusters, flushes int) ([][]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "activescale-recorder-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	sinkPort, messages, err := startSink(ctx)
	if err != nil {
		return nil, err
	}
	backendPort, err := startBackend(ctx)
	if err != nil {
		return nil, err
	}
	listenerPort, err := freePort()
	if err != nil {
		return nil, err
	}
	config := bootstrap{
		FlushInterval: flushInterval, ListenerPort: listenerPort,
		SinkPort: sinkPort, BackendPort: backendPort,
	}
	for i := range clusters {
		config.ExtraClusters = append(config.ExtraClusters, fmt.Sprintf("service-%03d", i))
	}
	process, err := startEnvoy(envoy, dir, config)
	if err != nil {
		return nil, err
	}
	exited := make(chan error, 1)
	go func() { exited <- process.Wait() }()
	defer process.Process.Kill()
	go runTraffic(ctx, listenerPort, clients)

	var kept [][]byte
	for received := 0; len(kept) < 1+flushes; received++ {
		select {
		case message := <-messages:
			if received == 0 || received > settleFlushes {
				kept = append(kept, message)
			}
		case err := <-exited:
			text, _ := os.ReadFile(filepath.Join(dir, "envoy.log"))
			return nil, fmt.Errorf("envoy ended early (%v): %s", err, text)
		case <-ctx.Done():
			return nil, fmt.Errorf("%w after %d messages", ctx.Err(), received)
		}
	}
	return kept, nil
}

// startSink serves StreamMetrics until ctx ends and passes on the messages of the first stream.
func startSink(ctx context.Context) (port int, messages <-chan []byte, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	received := make(chan []byte)
	only := make(chan struct{}, 1)
	handler := func(stream grpc.ServerStream) error {
		select {
		case only <- struct{}{}:
		default:
			return errors.New("a second stream would mix two captures")
		}
		for {
			var message []byte
			if err := stream.RecvMsg(&message); err != nil {
				return err
			}
			select {
			case received <- message:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(rawgrpc.Codec{}), grpc.MaxRecvMsgSize(maxMessage))
	server.RegisterService(rawgrpc.ServiceDesc(handler), nil)
	go server.Serve(listener)
	context.AfterFunc(ctx, server.Stop)
	return listener.Addr().(*net.TCPAddr).Port, received, nil
}

// freePort returns a TCP port of loopback that was free a moment ago, for a program that cannot
// report which port it chose.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
