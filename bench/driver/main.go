// Command driver plays many Envoys to one StreamMetrics server, from a capture, and measures the
// server. It prints one JSON object of figures.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"time"
)

// options says whom to measure and how much to do; each measurement uses some of them.
type options struct {
	grpc, https string // addresses
	redis       string // address of the Redis behind the server; empty: none
	server      process
	replay      *replay
	streams     int
	messages    int
	samples     int
	duration    time.Duration
	interval    time.Duration
}

var measurements = map[string]func(context.Context, *options) (result, error){
	"cpu":     measureCPU,
	"idle":    measureIdle,
	"flood":   measureFlood,
	"latency": measureLatency,
	"query":   measureQuery,
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("driver: ")
	var o options
	grpcPort := flag.Int("grpc-port", 0, "port of StreamMetrics on loopback")
	securePort := flag.Int("secure-port", 0, "port of the Custom Metrics API on loopback, 0 for none")
	redisPort := flag.Int("redis-port", 0, "port of the server's Redis on loopback, 0 for none")
	pid := flag.Int("pid", 0, "process of the server")
	path := flag.String("capture", "", "capture to replay")
	timeout := flag.Duration("timeout", 3*time.Minute, "give up after this time")
	flag.IntVar(&o.streams, "streams", 1, "streams, each of a pod and on a connection of its own")
	flag.IntVar(&o.messages, "messages", 0, "cpu: messages in all")
	flag.IntVar(&o.samples, "samples", 0, "latency: flushes; query: requests")
	flag.DurationVar(&o.duration, "duration", 0, "idle, flood: how long")
	flag.DurationVar(&o.interval, "interval", 5*time.Second, "idle, query: time between two flushes")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: driver [flags] cpu|idle|flood|latency|query")
		flag.PrintDefaults()
	}
	flag.Parse()
	measure := measurements[flag.Arg(0)]
	if measure == nil || flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	var err error
	if o.replay, err = loadReplay(*path); err != nil {
		log.Fatal(err)
	}
	o.server = process(*pid)
	o.grpc = fmt.Sprintf("127.0.0.1:%d", *grpcPort)
	if *securePort != 0 {
		o.https = fmt.Sprintf("127.0.0.1:%d", *securePort)
	}
	if *redisPort != 0 {
		o.redis = fmt.Sprintf("127.0.0.1:%d", *redisPort)
	}
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	figures, err := measure(ctx, &o)
	if err != nil {
		log.Fatalf("%s: %v", flag.Arg(0), err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(figures); err != nil {
		log.Fatal(err)
	}
}
