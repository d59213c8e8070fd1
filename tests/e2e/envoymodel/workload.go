package main

import (
	"math"
	"sort"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Step is a load that holds from At (Unix seconds) until the next step.
type Step struct {
	At  float64 `json:"at"`
	QPS float64 `json:"qps"`
}

// Config says how a workload behaves under load and how its Envoys report.
type Config struct {
	// Requests in flight in the whole workload are QPS times ServiceSeconds.
	ServiceSeconds float64 `json:"service_seconds"`
	// A pod takes traffic this long after it became Ready.
	ServingDelaySeconds float64 `json:"serving_delay_seconds"`
	Steps               []Step  `json:"steps"`
	// Signals maps a metric's name to its amount per request in flight.
	Signals map[string]float64 `json:"signals"`
	// Sinks are the metrics services that the Envoys push to, tried in turn; none: no Envoys.
	Sinks        []string `json:"sinks"`
	FlushSeconds float64  `json:"flush_seconds"`
	// Sidecars start muted: their pods push nothing until told otherwise.
	StartMuted bool `json:"start_muted"`
}

// State is what a workload looked like from T (Unix seconds) on.
type State struct {
	T       float64 `json:"t"`
	Spec    int     `json:"spec"`
	Pods    int     `json:"pods"`
	Ready   int     `json:"ready"`
	Serving int     `json:"serving"`
}

type pod struct {
	name    string
	readyAt time.Time // zero: not Ready
	uid     types.UID
	leaving bool      // has a deletion timestamp
	stop    func()    // ends the sidecar; nil: none was started
	muted   bool      // the sidecar pushes nothing
	flushAt time.Time // a moment that a flush falls on; zero: any
	// A gauge that was never touched is not sent, so a pod reports a signal only from its first
	// request on.
	touched map[string]bool
}

// workload is one Deployment or StatefulSet under load. Safe for concurrent use.
type workload struct {
	mu       sync.Mutex
	config   Config
	pods     map[string]*pod
	spec     int
	timeline []State
}

func newWorkload() *workload { return &workload{pods: map[string]*pod{}} }

func (w *workload) qps(now time.Time) float64 {
	at := float64(now.UnixNano()) / 1e9
	qps := 0.0
	for _, step := range w.config.Steps {
		if step.At <= at {
			qps = step.QPS
		}
	}
	return qps
}

func (w *workload) isServing(p *pod, now time.Time) bool {
	delay := time.Duration(w.config.ServingDelaySeconds * float64(time.Second))
	return !p.readyAt.IsZero() && !p.leaving && now.Sub(p.readyAt) >= delay
}

// serving lists the names of the pods that take traffic, sorted.
func (w *workload) serving(now time.Time) []string {
	var names []string
	for name, p := range w.pods {
		if w.isServing(p, now) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// Value is the pod's gauge for the metric at this moment: whole requests, shared so that the pods'
// values add up to the workload's. ok is false for a gauge that was never touched.
func (w *workload) Value(podName, metric string, now time.Time) (value int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[podName]
	if p == nil {
		return 0, false
	}
	names := w.serving(now)
	index := sort.SearchStrings(names, podName)
	if index < len(names) && names[index] == podName {
		inFlight := w.qps(now) * w.config.ServiceSeconds * w.config.Signals[metric]
		total := int64(math.Round(inFlight))
		count := int64(len(names))
		value = total / count
		if int64(index) < total%count {
			value++
		}
	}
	if value > 0 {
		p.touched[metric] = true
	}
	return value, p.touched[metric]
}

// gauges are the stats that the pod's Envoy has at this moment.
func (w *workload) gauges(p *pod, now time.Time) map[string]int64 {
	values := map[string]int64{}
	for metric, stat := range statNames {
		if value, ok := w.Value(p.name, metric, now); ok {
			values[stat] = value
		}
	}
	return values
}

// alignFlushes sets a moment of a flush for each of the first pods that serve.
func (w *workload) alignFlushes(moments []time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, name := range w.serving(time.Now()) {
		if i < len(moments) {
			w.pods[name].flushAt = moments[i]
		}
	}
}

func (w *workload) flushAt(p *pod) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return p.flushAt
}

func (w *workload) isMuted(p *pod) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return p.muted
}

// remove forgets a pod and ends its sidecar. REQUIRES: w.mu is held.
func (w *workload) remove(p *pod) {
	if p == nil {
		return
	}
	if p.stop != nil {
		p.stop()
	}
	delete(w.pods, p.name)
}

// record appends the present state to the timeline if it differs from the last one.
// REQUIRES: w.mu is held.
func (w *workload) record(now time.Time) {
	state := State{Spec: w.spec, Pods: len(w.pods), Serving: len(w.serving(now))}
	for _, p := range w.pods {
		if !p.readyAt.IsZero() && !p.leaving {
			state.Ready++
		}
	}
	if n := len(w.timeline); n > 0 {
		last := w.timeline[n-1]
		last.T = 0
		if last == state {
			return
		}
	}
	state.T = float64(now.UnixNano()) / 1e9
	w.timeline = append(w.timeline, state)
}
