package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const groupVersion = "custom.metrics.k8s.io/v1beta2"

type objectReference struct {
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	APIVersion string `json:"apiVersion"`
}

type metricIdentifier struct {
	Name string `json:"name"`
}

type metricValue struct {
	DescribedObject objectReference  `json:"describedObject"`
	Metric          metricIdentifier `json:"metric"`
	Timestamp       string           `json:"timestamp"`
	Value           string           `json:"value"`
}

type metricValueList struct {
	Kind       string        `json:"kind"`
	APIVersion string        `json:"apiVersion"`
	Metadata   struct{}      `json:"metadata"`
	Items      []metricValue `json:"items"`
}

type status struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Status     string `json:"status"`
	Message    string `json:"message"`
	Reason     string `json:"reason"`
	Code       int    `json:"code"`
}

// newAPI answers the pod metrics of the Custom Metrics API from s.
func newAPI(s backend) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apis/"+groupVersion+"/namespaces/{namespace}/pods/{name}/{metric}",
		func(w http.ResponseWriter, r *http.Request) { servePods(s, w, r) })
	return mux
}

func servePods(s backend, w http.ResponseWriter, r *http.Request) {
	metric := r.PathValue("metric")
	index := slices.Index(kindNames[:], metric)
	if index < 0 {
		writeError(w, http.StatusNotFound, "NotFound", "no metric called "+metric)
		return
	}
	selector, err := parseSelector(r.URL.Query().Get("labelSelector"))
	if err != nil {
		writeError(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	namespace, want := r.PathValue("namespace"), r.PathValue("name")
	values := s.query(namespace, kind(index), func(name string, labels map[string]string) bool {
		return (want == "*" || want == name) && selector.matches(labels)
	}, time.Now())
	if want != "*" && len(values) == 0 {
		writeError(w, http.StatusNotFound, "NotFound", "no telemetry of pod "+namespace+"/"+want)
		return
	}
	list := metricValueList{
		Kind: "MetricValueList", APIVersion: groupVersion, Items: make([]metricValue, 0, len(values)),
	}
	for _, value := range values {
		list.Items = append(list.Items, metricValue{
			DescribedObject: objectReference{"Pod", namespace, value.name, "v1"},
			Metric:          metricIdentifier{metric},
			Timestamp:       value.at.UTC().Format(time.RFC3339),
			Value:           quantity(value.value),
		})
	}
	writeJSON(w, http.StatusOK, list)
}

// quantity writes value as a Kubernetes quantity, in thousandths where it is no whole number.
func quantity(value float64) string {
	if value == math.Trunc(value) {
		return strconv.FormatInt(int64(value), 10)
	}
	return strconv.FormatInt(int64(math.Ceil(value*1000)), 10) + "m"
}

func writeError(w http.ResponseWriter, code int, reason, message string) {
	writeJSON(w, code, status{"Status", "v1", "Failure", message, reason, code})
}

func writeJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(value)
}

// selector holds the terms of a label selector that must all hold.
type selector []requirement

type requirement struct {
	key, value string
	equal      bool
}

// parseSelector reads `=`, `==` and `!=` terms, separated by commas.
func parseSelector(text string) (selector, error) {
	var result selector
	if text == "" {
		return nil, nil
	}
	for _, term := range strings.Split(text, ",") {
		if key, value, ok := strings.Cut(term, "!="); ok {
			result = append(result, requirement{strings.TrimSpace(key), strings.TrimSpace(value), false})
		} else if key, value, ok := strings.Cut(term, "="); ok {
			value = strings.TrimPrefix(value, "=")
			result = append(result, requirement{strings.TrimSpace(key), strings.TrimSpace(value), true})
		} else {
			return nil, fmt.Errorf("unsupported selector term %q", term)
		}
	}
	return result, nil
}

func (s selector) matches(labels map[string]string) bool {
	for _, r := range s {
		value, present := labels[r.key]
		if r.equal != (present && value == r.value) {
			return false
		}
	}
	return true
}
