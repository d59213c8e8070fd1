// Package hpa runs generated situations through the HPA controller of k8s.io/kubernetes and writes
// what it decided, one JSON document a line, for the comparison with src/hpa.
package hpa

// Situation is one HPA from its first sync on. All times are milliseconds since the start.
type Situation struct {
	Spec            Spec   `json:"spec"`
	ResyncMs        int64  `json:"resync_ms"`
	DownscaleMs     int64  `json:"downscale_ms"`
	ScaleToZero     bool   `json:"scale_to_zero"`
	InitialReplicas int32  `json:"initial_replicas"`
	Steps           []Step `json:"steps"`
}

// Spec holds the deciding parts of an HPA's spec; behavior has the apiserver's defaults filled in.
type Spec struct {
	Min     int32    `json:"min"`
	Max     int32    `json:"max"`
	Metrics []Metric `json:"metrics"`
	Up      *Rules   `json:"up"`
	Down    *Rules   `json:"down"`
}

// Metric is one entry of spec.metrics; Target is in milli-units, or percent for Utilization.
type Metric struct {
	Type       string `json:"type"`
	TargetType string `json:"target_type"`
	Target     int64  `json:"target"`
	Name       string `json:"name"`
}

// Rules is one direction of spec.behavior; Window and Tolerance are absent as -1.
type Rules struct {
	Window         int32    `json:"window"`
	Select         string   `json:"select"`
	Policies       []Policy `json:"policies"`
	ToleranceMilli int64    `json:"tolerance_milli"`
}

// Policy is one scaling policy.
type Policy struct {
	Type   string `json:"type"`
	Value  int32  `json:"value"`
	Period int32  `json:"period"`
}

// Step is the world at one sync, and what the controller made of it.
type Step struct {
	NowMs          int64    `json:"now_ms"`
	SetReplicas    int32    `json:"set_replicas"` // a person set spec.replicas before; -1 if not
	StatusReplicas int32    `json:"status_replicas"`
	NoSelector     bool     `json:"no_selector"`
	Pods           []Pod    `json:"pods"`
	Answers        []Answer `json:"answers"`
	Result         Result   `json:"result"`
}

// Pod is what the controller looks at in a pod; Ready is "", "True" or "False", times -1 if absent.
type Pod struct {
	Name     string `json:"name"`
	Phase    string `json:"phase"`
	Deleting bool   `json:"deleting"`
	Ready    string `json:"ready"`
	ReadyMs  int64  `json:"ready_ms"`
	StartMs  int64  `json:"start_ms"`
	Request  int64  `json:"request"`
}

// Answer is what the metrics API says for one metric.
type Answer struct {
	Error  bool     `json:"error"`
	Pods   []Sample `json:"pods"`
	Values []int64  `json:"values"`
}

// Sample is one pod's value in milli-units.
type Sample struct {
	Pod      string `json:"pod"`
	Value    int64  `json:"value"`
	TimeMs   int64  `json:"time_ms"`
	WindowMs int64  `json:"window_ms"`
}

// Result is what the controller did in one sync: the replica count afterwards, the reasons of the
// three conditions as they stand ("" if never set) and the class of the rescale's reason.
type Result struct {
	Replicas int32  `json:"replicas"`
	Rescaled bool   `json:"rescaled"`
	Able     string `json:"able"`
	Active   string `json:"active"`
	Limited  string `json:"limited"`
	Reason   string `json:"reason"`
}
