package main

import (
	"testing"

	dto "github.com/prometheus/client_model/go"
)

func TestClassify(t *testing.T) {
	none := kind(-1)
	type tags = map[string]string
	for _, test := range []struct {
		name   string
		labels tags
		want   kind
	}{
		{"http.inbound_0.0.0.0_8080;.downstream_rq_active", nil, inboundActiveRequests},
		{"http.inbound_0.0.0.0_8080.downstream_rq_active", nil, inboundActiveRequests},
		{"http.outbound_0.0.0.0_80;.downstream_rq_active", nil, outboundActiveRequests},
		{"http.downstream_rq_active", tags{"http_conn_manager_prefix": "inbound_x"},
			inboundActiveRequests},
		{"http.0.0.0_8080.downstream_rq_active", tags{"envoy.http_conn_manager_prefix": "inbound_0"},
			inboundActiveRequests},
		{"http.admin.downstream_rq_active", nil, none},
		{"http.inbound_0.0.0.0_8080;.downstream_rq_total", nil, none},
		{"envoy_http_downstream_rq_active", nil, none},
		{"listener.0.0.0.0_8080.downstream_cx_active", nil, activeConnections},
		{"listener.[__]_8080.downstream_cx_active", nil, activeConnections},
		{"listener.0.0.0.0_15006.downstream_cx_active", nil, activeConnections},
		{"listener.downstream_cx_active", tags{"envoy.listener_address": "0.0.0.0_8080"},
			activeConnections},
		{"listener.0.0.0.0_15021.downstream_cx_active", nil, none},
		{"listener.admin.downstream_cx_active", nil, none},
		{"listener.0.0.0.0_8080.worker_0.downstream_cx_active", nil, none},
		{"listener.worker_0.downstream_cx_active", tags{"listener_address": "0.0.0.0_80"}, none},
		{"listener.worker_downstream_cx_active",
			tags{"envoy.worker_id": "0", "envoy.listener_address": "0.0.0.0_80"}, none},
		{"listener.0.0.0.0_8080.downstream_pre_cx_active", nil, none},
		{"cluster.x.upstream_rq_active", nil, none},
	} {
		var labels []*dto.LabelPair
		for name, value := range test.labels {
			labels = append(labels, &dto.LabelPair{Name: &name, Value: &value})
		}
		got, ok := classify(test.name, labels)
		if !ok {
			got = none
		}
		if got != test.want {
			t.Errorf("%s %v: got %d, want %d", test.name, test.labels, got, test.want)
		}
	}
}
