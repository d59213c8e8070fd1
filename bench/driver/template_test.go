package main

import (
	"testing"

	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/service/metrics/v3"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

func TestRenderWritesTimeAndInboundGaugeAndNothingElse(t *testing.T) {
	family := func(name string, value float64) *dto.MetricFamily {
		return &dto.MetricFamily{
			Name: &name, Type: dto.MetricType_GAUGE.Enum(),
			Metric: []*dto.Metric{{
				Gauge: &dto.Gauge{Value: &value}, TimestampMs: proto.Int64(1_700_000_000_000),
			}},
		}
	}
	recorded := &metricsv3.StreamMetricsMessage{EnvoyMetrics: []*dto.MetricFamily{
		family("http.inbound_0.0.0.0_8080;.downstream_rq_active", 3),
		family("http.admin.downstream_rq_active", 4),
	}}
	data, err := proto.Marshal(recorded)
	if err != nil {
		t.Fatal(err)
	}
	template, err := newTemplate(data)
	if err != nil {
		t.Fatal(err)
	}
	var got metricsv3.StreamMetricsMessage
	rendered := template.render(1_800_000_000_123, 77).Materialize()
	if err := proto.Unmarshal(rendered, &got); err != nil {
		t.Fatal(err)
	}
	for _, f := range recorded.EnvoyMetrics {
		f.Metric[0].TimestampMs = proto.Int64(1_800_000_000_123)
	}
	recorded.EnvoyMetrics[0].Metric[0].Gauge.Value = proto.Float64(77)
	if !proto.Equal(&got, recorded) {
		t.Errorf("got %v, want %v", &got, recorded)
	}
}
