package main

import (
	"io"
	"log"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/service/metrics/v3"
)

// identity names the pod of a stream.
type identity struct {
	namespace, name string
	labels          map[string]string
}

// ingest receives StreamMetrics and keeps what matches.
type ingest struct {
	metricsv3.UnimplementedMetricsServiceServer
	store backend
}

func (i *ingest) StreamMetrics(stream metricsv3.MetricsService_StreamMetricsServer) error {
	var id identity
	known := false
	for {
		message, err := stream.Recv()
		if err == io.EOF {
			return stream.SendAndClose(&metricsv3.StreamMetricsResponse{})
		}
		if err != nil {
			return err
		}
		if node := message.GetIdentifier().GetNode(); node != nil {
			if id, known = identify(node); !known {
				log.Printf("missing pod identity: node id %q", node.GetId())
			}
		}
		if known {
			i.keep(id, message)
		}
	}
}

// keep adds up the matching families of one message and stores the sums.
func (i *ingest) keep(id identity, message *metricsv3.StreamMetricsMessage) {
	var values [kindCount]float64
	var present [kindCount]bool
	for _, family := range message.GetEnvoyMetrics() {
		for _, metric := range family.GetMetric() {
			k, ok := classify(family.GetName(), metric.GetLabel())
			if !ok || metric.GetGauge() == nil {
				continue
			}
			values[k] += metric.GetGauge().GetValue()
			present[k] = true
		}
	}
	i.store.update(id, values, present, time.Now())
}

// identify prefers the metadata that Istio gives each proxy and falls back to the node's id,
// type~ip~pod.namespace~namespace.svc.domain.
func identify(node *corev3.Node) (identity, bool) {
	fields := node.GetMetadata().GetFields()
	id := identity{
		namespace: fields["NAMESPACE"].GetStringValue(),
		name:      fields["NAME"].GetStringValue(),
		labels:    make(map[string]string),
	}
	for name, value := range fields["LABELS"].GetStructValue().GetFields() {
		id.labels[name] = value.GetStringValue()
	}
	if id.namespace != "" && id.name != "" {
		return id, true
	}
	parts := strings.Split(node.GetId(), "~")
	if len(parts) != 4 {
		return identity{}, false
	}
	id.namespace, _, _ = strings.Cut(parts[3], ".")
	name, ok := strings.CutSuffix(parts[2], "."+id.namespace)
	id.name = name
	return id, ok && id.namespace != "" && id.name != ""
}
