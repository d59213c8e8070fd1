// Command reference is the server that the benchmarks compare with: what a good Go engineer would
// write with grpc-go, go-control-plane's messages and net/http. Each message is decoded in full.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/service/metrics/v3"
	"google.golang.org/grpc"
)

// maxMessageBytes is the Go Activescale's default receive limit.
const maxMessageBytes = 32 << 20

func main() {
	grpcPort := flag.Int("grpc-port", 9000, "port of StreamMetrics, on loopback")
	securePort := flag.Int("secure-port", 6443, "port of the Custom Metrics API, on loopback")
	ttl := flag.Duration("ttl", 20*time.Second, "age at which a value expires")
	redisAddress := flag.String("redis-addr", "", "Redis that keeps the values; empty: memory does")
	flag.Parse()
	var values backend = newStore(*ttl)
	if *redisAddress != "" {
		values = newSharedStore(*redisAddress, *ttl)
	}
	if err := run(*grpcPort, *securePort, values, *ttl); err != nil {
		log.Fatal(err)
	}
}

func run(grpcPort, securePort int, s backend, ttl time.Duration) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go sweepEvery(ctx, s, ttl)

	grpcListener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", grpcPort))
	if err != nil {
		return err
	}
	grpcServer := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessageBytes))
	metricsv3.RegisterMetricsServiceServer(grpcServer, &ingest{store: s})

	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	httpServer := &http.Server{
		Addr:              fmt.Sprintf("127.0.0.1:%d", securePort),
		Handler:           newAPI(s),
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate},
		},
	}

	failed := make(chan error, 2)
	go func() { failed <- grpcServer.Serve(grpcListener) }()
	go func() { failed <- httpServer.ListenAndServeTLS("", "") }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		grpcServer.Stop()
		return httpServer.Close()
	}
}

func sweepEvery(ctx context.Context, s backend, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			s.sweep(now)
		case <-ctx.Done():
			return
		}
	}
}

// selfSigned makes a key and a certificate for loopback.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
