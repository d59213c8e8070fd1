package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// backendDelay keeps requests in flight long enough for each flush to see some.
const backendDelay = 20 * time.Millisecond

// startBackend serves the application behind Envoy until ctx ends and returns its port.
func startBackend(ctx context.Context) (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	server := &http.Server{Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(backendDelay)
			io.WriteString(w, "ok\n")
		})}
	go server.Serve(listener)
	context.AfterFunc(ctx, func() { server.Close() })
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// runTraffic keeps clients requests in flight at port until ctx ends. Failures are expected while
// Envoy starts; they only slow a client down.
func runTraffic(ctx context.Context, port, clients int) {
	client := &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: clients},
	}
	url := fmt.Sprintf("http://127.0.0.1:%d/", port)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for ctx.Err() == nil {
				response, err := client.Get(url)
				if err != nil {
					time.Sleep(backendDelay)
					continue
				}
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		})
	}
	group.Wait()
}
