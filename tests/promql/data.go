package main

import (
	"math"
	"math/rand"
	"strconv"

	"activescale.local/tests/promql/format"
)

// All samples lie in the half hour from here on; it is a whole number of minutes.
const (
	dataStart = int64(1_699_999_980_000)
	dataEnd   = dataStart + 30*60_000
)

// sample is of a kind of its own, because the two engines' modules have different types.
type sample struct {
	t int64
	v float64
}

type rawSeries struct {
	labels  map[string]string
	samples []sample
}

// makeData gives gauges, counters with resets, histograms, series that come, go and return, and odd
// values. Some series are scraped exactly at whole multiples of 5 s, so that ranges have samples on
// their edges.
func makeData(random *rand.Rand) []rawSeries {
	var all []rawSeries
	add := func(step, jitter int64, value func(i int) float64, labels ...string) {
		s := rawSeries{labels: map[string]string{}}
		for i := 0; i+1 < len(labels); i += 2 {
			s.labels[labels[i]] = labels[i+1]
		}
		for i, t := 0, dataStart; t <= dataEnd; i, t = i+1, t+step {
			v := value(i)
			if math.Float64bits(v) == skipBits {
				continue
			}
			at := t
			if jitter > 0 {
				at += random.Int63n(jitter)
			}
			s.samples = append(s.samples, sample{at, v})
		}
		all = append(all, s)
	}
	addGauges(random, add)
	addCounters(random, add)
	addOdd(random, add)
	return all
}

type adder func(step, jitter int64, value func(i int) float64, labels ...string)

// skipBits marks a scrape that did not happen.
const skipBits = uint64(0x7ff8dead00000000)

var skip = math.Float64frombits(skipBits)

func addGauges(random *rand.Rand, add adder) {
	for _, namespace := range []string{"dev", "prod"} {
		for _, q := range []string{"0.5", "0.75", "0.99"} {
			add(5000, 0, func(int) float64 { return float64(random.Intn(40)) },
				"__name__", "cortex_query_scheduler_inflight_requests", "namespace", namespace, "quantile", q)
		}
		for _, deployment := range []string{"querier", "ingester"} {
			replicas := float64(2 + random.Intn(8))
			add(30_000, 0, func(i int) float64 { return replicas + float64(i/20) },
				"__name__", "kube_deployment_spec_replicas", "namespace", namespace, "deployment", deployment)
		}
		for _, name := range []string{"status_current_replicas", "spec_max_replicas"} {
			add(30_000, 0, func(i int) float64 { return math.Min(10, 8+float64(i/15)) },
				"__name__", "kube_horizontalpodautoscaler_"+name, "namespace", namespace, "horizontalpodautoscaler", "querier")
		}
	}
	for i := 0; i < 4; i++ {
		add(15_000, 900, func(int) float64 { return random.NormFloat64()*20 + 5 },
			"__name__", "temperature", "instance", strconv.Itoa(i), "job", []string{"api", "web"}[i%2])
	}
	for i := 0; i < 3; i++ {
		add(15_000, 0, func(int) float64 { return random.Float64() * 1000 },
			"__name__", "capacity", "instance", strconv.Itoa(i), "zone", "z"+strconv.Itoa(i%2))
	}
	for _, job := range []string{"api", "web"} {
		add(15_000, 0, func(int) float64 { return 1 }, "__name__", "job_info", "job", job, "team", "team-"+job)
	}
}

func addCounters(random *rand.Rand, add adder) {
	for i := 0; i < 4; i++ {
		for _, code := range []string{"200", "500"} {
			total := float64(random.Intn(100))
			add(15_000, 700, func(int) float64 {
				total += float64(random.Intn(30))
				if random.Intn(40) == 0 {
					total = float64(random.Intn(5))
				}
				if random.Intn(30) == 0 {
					return skip
				}
				return total
			}, "__name__", "http_requests_total", "instance", strconv.Itoa(i), "job", []string{"api", "web"}[i%2], "code", code)
		}
	}
	for _, job := range []string{"api", "web"} {
		totals := make([]float64, 6)
		for b, le := range []string{"0.1", "0.5", "1", "2.5", "+Inf", "odd"} {
			add(15_000, 0, func(int) float64 {
				totals[b] += float64(random.Intn(3) + b)
				return totals[b]
			}, "__name__", "request_seconds_bucket", "job", job, "le", le)
		}
	}
}

func addOdd(random *rand.Rand, add adder) {
	// No subnormal value: the real engine's ln() is wrong for them on this kind of processor.
	values := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e300, -1e300, 2.5e-308, 1e21, 12345678901234567890, 1e-7, 3}
	for i := 0; i < 3; i++ {
		add(15_000, 0, func(int) float64 { return values[random.Intn(len(values))] }, "__name__", "odd", "n", strconv.Itoa(i))
	}
	add(5000, 0, func(i int) float64 { // comes late
		if i < 120 {
			return skip
		}
		return float64(i)
	}, "__name__", "comes_and_goes", "kind", "late")
	add(5000, 0, func(i int) float64 { // ends, and comes back
		if i == 100 || i == 200 {
			return format.StaleMarker
		}
		if i > 100 && i < 150 || i > 200 {
			return skip
		}
		return float64(i % 7)
	}, "__name__", "comes_and_goes", "kind", "stale")
	add(5000, 0, func(i int) float64 { // stops without a word
		if i > 180 {
			return skip
		}
		return float64(i) / 3
	}, "__name__", "comes_and_goes", "kind", "lost")
	add(60_000, 0, func(i int) float64 { return float64(i) }, "__name__", "slow:recorded", "utf", "ä\n\"")
}

func toVectors(all []rawSeries) []format.Series {
	var out []format.Series
	for _, s := range all {
		v := format.Series{Labels: s.labels}
		for _, p := range s.samples {
			v.Points = append(v.Points, format.PointOf(p.t, p.v))
		}
		out = append(out, v)
	}
	return out
}
