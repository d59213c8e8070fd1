package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/service/metrics/v3"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// Counters of all Envoys of this process.
type pushStats struct {
	StreamsOpened atomic.Int64
	FlushesSent   atomic.Int64
	FlushesLost   atomic.Int64
}

// identity is what a sidecar says about itself in the first message of a stream.
type identity struct {
	Namespace string            `json:"namespace"`
	Pod       string            `json:"pod"`
	IP        string            `json:"ip"`
	App       string            `json:"app"`
	Labels    map[string]string `json:"labels"`
}

// envoy is the metrics sink of one sidecar: a connection of its own, one stream, a flush each
// interval. Like Envoy it drops a stream that failed, loses the flushes until the next one opens,
// and sends its node again then.
type envoy struct {
	id       identity
	sinks    []string
	interval time.Duration
	phase    time.Duration // from the start to the first flush
	// flushAt is a moment that a flush falls on, and others whole intervals from it; zero: any.
	flushAt func() time.Time
	gauges  func(now time.Time) map[string]int64
	muted   func() bool // true: the sidecar is cut off, its stream closed
	silent  func() bool // true: the stream stays open, nothing is sent
	stats   *pushStats

	attempts int
	conn     *grpc.ClientConn
	stream   metricsv3.MetricsService_StreamMetricsClient
	flushes  int64
}

func (e *envoy) run(ctx context.Context) {
	defer e.close()
	timer := time.NewTimer(e.phase)
	defer timer.Stop()
	next := time.Now().Add(e.phase)
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		switch {
		case e.muted():
			e.close()
		case !e.silent():
			e.flush(ctx)
		}
		next = next.Add(e.interval)
		if moment := e.flushAt(); !moment.IsZero() {
			next = aligned(next, moment, e.interval)
		}
		timer.Reset(time.Until(next))
	}
}

// aligned is the moment nearest to next that is whole intervals away from moment.
func aligned(next, moment time.Time, interval time.Duration) time.Time {
	away := moment.Sub(next)
	return next.Add(away - away.Round(interval))
}

func (e *envoy) flush(ctx context.Context) {
	message := &metricsv3.StreamMetricsMessage{}
	if e.stream == nil {
		if err := e.open(ctx); err != nil {
			e.stats.FlushesLost.Add(1)
			return
		}
		message.Identifier = &metricsv3.StreamMetricsMessage_Identifier{Node: e.node()}
	}
	now := time.Now()
	e.flushes++
	message.EnvoyMetrics = e.families(now)
	if err := e.stream.Send(message); err != nil {
		e.stats.FlushesLost.Add(1)
		e.close()
		return
	}
	e.stats.FlushesSent.Add(1)
}

func (e *envoy) open(ctx context.Context) error {
	sink := e.sinks[e.attempts%len(e.sinks)]
	e.attempts++
	quick := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.5, MaxDelay: time.Second}
	conn, err := grpc.NewClient("passthrough:///"+sink,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(),
		grpc.WithReadBufferSize(4096), grpc.WithWriteBufferSize(4096),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: quick, MinConnectTimeout: time.Second}))
	if err != nil {
		return err
	}
	stream, err := metricsv3.NewMetricsServiceClient(conn).StreamMetrics(ctx)
	if err != nil {
		conn.Close()
		return err
	}
	e.conn, e.stream = conn, stream
	e.stats.StreamsOpened.Add(1)
	return nil
}

func (e *envoy) close() {
	if e.conn != nil {
		e.conn.Close()
	}
	e.conn, e.stream = nil, nil
}

func (e *envoy) node() *corev3.Node {
	labels := map[string]any{}
	for key, value := range e.id.Labels {
		labels[key] = value
	}
	metadata, err := structpb.NewStruct(map[string]any{
		"NAME": e.id.Pod, "NAMESPACE": e.id.Namespace, "LABELS": labels,
		"INSTANCE_IPS": e.id.IP, "WORKLOAD_NAME": e.id.App,
	})
	if err != nil {
		panic(err) // only strings and maps of strings go in
	}
	return &corev3.Node{
		Id: fmt.Sprintf("sidecar~%s~%s.%s~%s.svc.cluster.local",
			e.id.IP, e.id.Pod, e.id.Namespace, e.id.Namespace),
		Cluster:  e.id.App + "." + e.id.Namespace,
		Metadata: metadata,
	}
}

// families is one flush: the gauges that count, among others that a sidecar sends besides.
func (e *envoy) families(now time.Time) []*dto.MetricFamily {
	millis := proto.Int64(now.UnixMilli())
	families := make([]*dto.MetricFamily, 0, 32)
	for i := range 12 {
		families = append(families, &dto.MetricFamily{
			Name: proto.String(fmt.Sprintf(
				"cluster.outbound|80%02d||backend.demo.svc.cluster.local;.upstream_rq_total", i)),
			Type: dto.MetricType_COUNTER.Enum(),
			Metric: []*dto.Metric{{
				Counter: &dto.Counter{Value: proto.Float64(float64(e.flushes))}, TimestampMs: millis,
			}},
		}, gauge(fmt.Sprintf(
			"cluster.outbound|80%02d||backend.demo.svc.cluster.local;.upstream_cx_active", i), 1, millis))
	}
	for name, value := range e.gauges(now) {
		families = append(families, gauge(name, value, millis))
	}
	return families
}

func gauge(name string, value int64, millis *int64) *dto.MetricFamily {
	return &dto.MetricFamily{
		Name: proto.String(name), Type: dto.MetricType_GAUGE.Enum(),
		Metric: []*dto.Metric{{
			Gauge: &dto.Gauge{Value: proto.Float64(float64(value))}, TimestampMs: millis,
		}},
	}
}
