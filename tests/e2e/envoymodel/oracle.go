package main

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

const groupVersion = "custom.metrics.k8s.io/v1beta2"

// oracle serves the Custom Metrics API with the model's values of the moment of the question: what
// remains of a delay then is the HPA's own. It trusts whoever reaches it.
type oracle struct {
	cluster *cluster
	reads   atomic.Int64
}

func (o *oracle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := strings.Trim(r.URL.Path, "/"); {
	case path == "healthz" || path == "readyz":
		w.WriteHeader(http.StatusOK)
	case path == "apis/"+groupVersion:
		o.discovery(w)
	case strings.HasPrefix(path, "apis/"+groupVersion+"/namespaces/"):
		o.values(w, r, strings.Split(path, "/")[4:])
	default:
		http.NotFound(w, r)
	}
}

func (o *oracle) discovery(w http.ResponseWriter) {
	var resources []map[string]any
	for metric := range statNames {
		resources = append(resources, map[string]any{
			"name": "pods/" + metric, "singularName": "", "namespaced": true,
			"kind": "MetricValueList", "verbs": []string{"get"},
		})
	}
	reply(w, map[string]any{"kind": "APIResourceList", "apiVersion": "v1",
		"groupVersion": groupVersion, "resources": resources})
}

// values answers <namespace>/pods/*/<metric>.
func (o *oracle) values(w http.ResponseWriter, r *http.Request, parts []string) {
	if len(parts) != 4 || parts[1] != "pods" || parts[2] != "*" {
		http.NotFound(w, r)
		return
	}
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o.reads.Add(1)
	namespace, metric, now := parts[0], parts[3], time.Now()
	items := []map[string]any{}
	for _, pod := range o.cluster.selected(namespace, selector) {
		value, _ := o.cluster.workload(key{namespace, pod.Labels["app"]}).Value(pod.Name, metric, now)
		items = append(items, map[string]any{
			"describedObject": map[string]any{"kind": "Pod", "namespace": namespace,
				"name": pod.Name, "apiVersion": "v1"},
			"metric":    map[string]any{"name": metric},
			"timestamp": now.UTC().Format(time.RFC3339),
			"value":     strconv.FormatInt(value, 10),
		})
	}
	reply(w, map[string]any{"kind": "MetricValueList", "apiVersion": groupVersion,
		"metadata": map[string]any{}, "items": items})
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
