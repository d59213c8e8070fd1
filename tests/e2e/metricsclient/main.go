// Metricsclient asks the custom and external metrics APIs with k8s.io/metrics' typed client, the one
// that the HPA controller uses. It reads questions as a JSON list from standard input and prints the
// answers as a JSON list in the same order.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	custom "k8s.io/metrics/pkg/client/custom_metrics"
	external "k8s.io/metrics/pkg/client/external_metrics"
)

// question is one call of the typed client.
type question struct {
	// Version of the custom metrics API; "" lets the client choose as the HPA's does; "external"
	// asks the external metrics API.
	Version string `json:"version"`
	// Namespace of the object; "" asks for root-scoped objects.
	Namespace string `json:"namespace"`
	// Kind with its group, "Deployment.apps"; not used for external metrics.
	Kind string `json:"kind"`
	// Name of one object; "" asks for all that Selector matches.
	Name           string `json:"name"`
	Selector       string `json:"selector"`
	Metric         string `json:"metric"`
	MetricSelector string `json:"metric_selector"`
}

type item struct {
	Kind          string  `json:"kind"`
	Namespace     string  `json:"namespace"`
	Name          string  `json:"name"`
	Metric        string  `json:"metric"`
	Milli         int64   `json:"milli"`
	AgeSeconds    float64 `json:"age_seconds"`
	WindowSeconds *int64  `json:"window_seconds"`
}

type answer struct {
	Items []item `json:"items"`
	Error string `json:"error"`
}

type asker struct {
	config *rest.Config
	mapper meta.RESTMapper
	chosen custom.CustomMetricsClient
	extern external.ExternalMetricsClient
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of the API server to ask")
	flag.Parse()
	a, err := newAsker(*kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		log.Fatalf("reading the questions: %v", err)
	}
	answers := make([]answer, 0, len(questions))
	for _, q := range questions {
		items, err := a.ask(q)
		reply := answer{Items: items}
		if err != nil {
			reply.Error = err.Error()
		}
		answers = append(answers, reply)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		log.Fatal(err)
	}
}

func newAsker(kubeconfig string) (*asker, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading --kubeconfig: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(disco)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	extern, err := external.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	chosen := custom.NewForConfig(config, mapper, custom.NewAvailableAPIsGetter(disco))
	return &asker{config: config, mapper: mapper, chosen: chosen, extern: extern}, nil
}

func (a *asker) ask(q question) ([]item, error) {
	selector, err := labels.Parse(q.Selector)
	if err != nil {
		return nil, err
	}
	if q.Version == "external" {
		return a.askExternal(q, selector)
	}
	metricSelector, err := labels.Parse(q.MetricSelector)
	if err != nil {
		return nil, err
	}
	client := a.chosen
	if q.Version != "" {
		version := schema.GroupVersion{Group: "custom.metrics.k8s.io", Version: q.Version}
		client, err = custom.NewForVersionForConfig(a.config, a.mapper, version)
		if err != nil {
			return nil, err
		}
	}
	var scope custom.MetricsInterface = client.RootScopedMetrics()
	if q.Namespace != "" {
		scope = client.NamespacedMetrics(q.Namespace)
	}
	kind := schema.ParseGroupKind(q.Kind)
	if q.Name != "" {
		value, err := scope.GetForObject(kind, q.Name, q.Metric, metricSelector)
		if err != nil {
			return nil, err
		}
		return []item{customItem(value)}, nil
	}
	values, err := scope.GetForObjects(kind, selector, q.Metric, metricSelector)
	if err != nil {
		return nil, err
	}
	items := []item{}
	for i := range values.Items {
		items = append(items, customItem(&values.Items[i]))
	}
	return items, nil
}

func (a *asker) askExternal(q question, selector labels.Selector) ([]item, error) {
	values, err := a.extern.NamespacedMetrics(q.Namespace).List(q.Metric, selector)
	if err != nil {
		return nil, err
	}
	items := []item{}
	for _, value := range values.Items {
		items = append(items, item{
			Namespace: q.Namespace, Metric: value.MetricName, Milli: value.Value.MilliValue(),
			AgeSeconds: time.Since(value.Timestamp.Time).Seconds(), WindowSeconds: value.WindowSeconds,
		})
	}
	return items, nil
}

func customItem(value *v1beta2.MetricValue) item {
	return item{
		Kind: value.DescribedObject.Kind, Namespace: value.DescribedObject.Namespace,
		Name: value.DescribedObject.Name, Metric: value.Metric.Name,
		Milli:      value.Value.MilliValue(),
		AgeSeconds: time.Since(value.Timestamp.Time).Seconds(), WindowSeconds: value.WindowSeconds,
	}
}
