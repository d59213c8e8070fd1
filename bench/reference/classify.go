package main

import (
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// kind is one of the metrics served.
type kind int

const (
	inboundActiveRequests kind = iota
	outboundActiveRequests
	activeConnections
	kindCount
)

var kindNames = [kindCount]string{
	"inbound_active_requests", "outbound_active_requests", "active_connections",
}

// reservedPorts are Istio's own: admin, failure detection, debug, telemetry, health, DNS,
// Prometheus.
var reservedPorts = map[string]bool{
	"15000": true, "15002": true, "15004": true, "15020": true,
	"15021": true, "15053": true, "15090": true,
}

// classify tells which metric a family name (with the labels of its metric, where Envoy extracted
// tags) belongs to, and false where it belongs to none.
func classify(name string, labels []*dto.LabelPair) (kind, bool) {
	if rest, ok := strings.CutPrefix(name, "http."); ok {
		middle, ok := strings.CutSuffix(rest, "downstream_rq_active")
		if !ok {
			return 0, false
		}
		prefix := strings.TrimSuffix(strings.TrimSuffix(middle, "."), ";")
		if tag := label(labels, "http_conn_manager_prefix"); tag != "" {
			prefix = tag
		}
		switch {
		case strings.HasPrefix(prefix, "inbound_"):
			return inboundActiveRequests, true
		case strings.HasPrefix(prefix, "outbound_"):
			return outboundActiveRequests, true
		}
		return 0, false
	}
	if rest, ok := strings.CutPrefix(name, "listener."); ok {
		middle, ok := strings.CutSuffix(rest, "downstream_cx_active")
		if !ok {
			return 0, false
		}
		address := strings.TrimSuffix(middle, ".")
		if tag := label(labels, "listener_address"); tag != "" && address == "" {
			address = tag
		}
		if label(labels, "worker_id") != "" || !isServiceListener(address) {
			return 0, false
		}
		return activeConnections, true
	}
	return 0, false
}

// isServiceListener reports whether address, such as 0.0.0.0_8080 or [__]_8080, is a listener for
// traffic and not one of Istio's own or a worker's breakdown.
func isServiceListener(address string) bool {
	separator := strings.LastIndexByte(address, '_')
	if separator <= 0 {
		return false
	}
	port := address[separator+1:]
	for _, digit := range port {
		if digit < '0' || digit > '9' {
			return false
		}
	}
	return port != "" && !reservedPorts[port] && !strings.Contains(address, ".worker_") &&
		!strings.HasPrefix(address, "worker_")
}

// label returns the value of the label called name, with or without Envoy's prefix.
func label(labels []*dto.LabelPair, name string) string {
	for _, pair := range labels {
		if strings.TrimPrefix(pair.GetName(), "envoy.") == name {
			return pair.GetValue()
		}
	}
	return ""
}
