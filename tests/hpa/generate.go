package hpa

import (
	"fmt"
	"math/rand/v2"
)

// pick returns one of the choices.
func pick[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

// chance is true with probability p.
func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// Generate makes a situation; every third has one sync only, the others up to 24.
func Generate(r *rand.Rand) Situation {
	s := Situation{
		ResyncMs:    pick(r, int64(15000), 15000, 5000, 1000, 40000),
		DownscaleMs: pick(r, int64(300000), 300000, 60000, 0),
		ScaleToZero: chance(r, 0.15),
	}
	s.Spec.Max = 1 + r.Int32N(pick(r, int32(3), 12, 40, 200))
	s.Spec.Min = 1 + r.Int32N(s.Spec.Max)
	if chance(r, 0.6) {
		s.Spec.Min = 1
	}
	for range pick(r, 1, 1, 1, 2, 3) {
		s.Spec.Metrics = append(s.Spec.Metrics, generateMetric(r))
	}
	if s.ScaleToZero && chance(r, 0.7) {
		s.Spec.Min = 0
	}
	if chance(r, 0.55) {
		s.Spec.Up, s.Spec.Down = generateRules(r, true), generateRules(r, false)
	}
	s.InitialReplicas = r.Int32N(s.Spec.Max + 3)
	steps := 1
	if !chance(r, 0.33) {
		steps = 2 + r.IntN(23)
	}
	drift := pick(r, 0.2, 1, 1, 3)
	for k := range steps {
		if chance(r, 0.3) {
			drift = pick(r, 0, 0.05, 0.3, 0.9, 1, 1.05, 1.5, 4, 30)
		}
		s.Steps = append(s.Steps, generateStep(r, &s, drift, int64(k+1)*s.ResyncMs))
	}
	return s
}

func generateMetric(r *rand.Rand) Metric {
	m := Metric{Type: pick(r, "Pods", "Pods", "Pods", "Object", "External", "Resource")}
	m.Target = pick(r, int64(1), 100, 500, 1000, 4000, 5000, 10000, 10000, 33333)
	switch m.Type {
	case "Pods":
		m.TargetType, m.Name = "AverageValue", "inbound_active_requests"
	case "Object", "External":
		m.TargetType, m.Name = pick(r, "Value", "AverageValue"), "queue"
	case "Resource":
		m.Name = pick(r, "cpu", "cpu", "memory")
		m.TargetType = pick(r, "AverageValue", "Utilization", "Utilization")
		if m.TargetType == "Utilization" {
			m.Target = pick(r, int64(1), 50, 80, 100, 150)
		}
	}
	return m
}

func generateRules(r *rand.Rand, up bool) *Rules {
	rules := &Rules{Window: -1, Select: pick(r, "Max", "Max", "Min", "Disabled"), ToleranceMilli: -1}
	if chance(r, 0.8) {
		rules.Select = "Max"
	}
	if up || chance(r, 0.6) {
		rules.Window = pick(r, int32(0), 0, 1, 30, 60, 300, 600)
	}
	if chance(r, 0.2) {
		rules.ToleranceMilli = pick(r, int64(0), 10, 50, 500, 2000)
	}
	for range 1 + r.IntN(3) {
		rules.Policies = append(rules.Policies, Policy{
			Type:   pick(r, "Pods", "Percent"),
			Value:  pick(r, int32(1), 2, 4, 10, 50, 100, 900),
			Period: pick(r, int32(1), 15, 15, 30, 60, 300),
		})
	}
	return rules
}

func generateStep(r *rand.Rand, s *Situation, drift float64, now int64) Step {
	step := Step{NowMs: now, SetReplicas: -1, NoSelector: chance(r, 0.02)}
	if chance(r, 0.05) {
		step.SetReplicas = r.Int32N(s.Spec.Max + 2)
	}
	pods := r.IntN(int(min(s.Spec.Max+2, 15)))
	if chance(r, 0.03) {
		pods = 0
	}
	healthy := pick(r, 1, 1, 0.9, 0.5)
	for i := range pods {
		step.Pods = append(step.Pods, generatePod(r, fmt.Sprintf("pod-%d", i), healthy, now))
	}
	step.StatusReplicas = int32(pods)
	if chance(r, 0.1) {
		step.StatusReplicas = r.Int32N(s.Spec.Max + 1)
	}
	present := pick(r, 1, 1, 0.8, 0.2)
	resources := map[string]Answer{} // one resource has one answer, however often it is named
	for _, m := range s.Spec.Metrics {
		answer, known := resources[m.Name]
		if !known {
			answer = generateAnswer(r, m, step.Pods, drift, present, now)
		}
		if m.Type == "Resource" {
			resources[m.Name] = answer
		}
		step.Answers = append(step.Answers, answer)
	}
	return step
}

func generatePod(r *rand.Rand, name string, healthy float64, now int64) Pod {
	pod := Pod{
		Name: name, Phase: "Running", Ready: "True", Request: pick(r, int64(100), 250, 1000),
		StartMs: now - r.Int64N(900000), ReadyMs: -1,
	}
	pod.ReadyMs = pod.StartMs + r.Int64N(now-pod.StartMs+1)
	if chance(r, healthy) {
		return pod
	}
	pod.Phase = pick(r, "Running", "Pending", "Failed", "Succeeded", "Unknown")
	pod.Ready = pick(r, "True", "False", "False", "")
	pod.Deleting = chance(r, 0.2)
	if chance(r, 0.2) {
		pod.StartMs = -1
	}
	if chance(r, 0.05) {
		pod.Request = -1
	}
	return pod
}

func generateAnswer(r *rand.Rand, m Metric, pods []Pod, drift, present float64, now int64) Answer {
	a := Answer{Error: chance(r, 0.06)}
	scale := float64(m.Target)
	if m.TargetType == "Utilization" {
		scale = float64(m.Target) * 2.5
	}
	value := func() int64 {
		if chance(r, 0.3) {
			return int64(scale * drift)
		}
		return int64(scale * drift * 2 * r.Float64())
	}
	switch m.Type {
	case "Object":
		a.Values = []int64{value() * int64(1+r.IntN(20))}
	case "External":
		for range r.IntN(4) {
			a.Values = append(a.Values, value()*int64(1+r.IntN(10)))
		}
	default:
		for _, pod := range pods {
			if chance(r, present) {
				a.Pods = append(a.Pods, Sample{pod.Name, value(), now - r.Int64N(90000), pick(r, int64(15000), 30000, 60000)})
			}
		}
		if chance(r, 0.05) {
			a.Pods = append(a.Pods, Sample{"stranger", value(), now, 60000})
		}
	}
	return a
}
