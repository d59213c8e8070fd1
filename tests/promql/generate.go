package main

import (
	"fmt"
	"math/rand"
	"strconv"
	"strings"
)

// generator writes random queries that are well typed, mostly, and now and then broken by a slip of
// the pen.
type generator struct{ random *rand.Rand }

func (g *generator) pick(options ...string) string { return options[g.random.Intn(len(options))] }

func (g *generator) chance(percent int) bool { return g.random.Intn(100) < percent }

func (g *generator) query() string {
	var q string
	switch g.random.Intn(12) {
	case 0:
		q = g.scalar(3)
	case 1:
		q = g.rangeVector(2)
	default:
		q = g.vector(4)
	}
	if strings.Contains(q, "%") && strings.Contains(q, "^") {
		// The remainder of a huge power is what the processor's rounding makes of it.
		q = strings.ReplaceAll(q, "^", "+")
	}
	if g.chance(5) {
		q = g.slip(q)
	}
	return q
}

func (g *generator) slip(q string) string {
	at := g.random.Intn(len(q))
	switch g.random.Intn(3) {
	case 0:
		return q[:at] + q[at+1:]
	case 1:
		// No space: in a range the real engine takes a letter after one for a colon.
		return q[:at] + g.pick("(", ")", "[", "{", "5", "m", ",", "\"", "by", "-", "offset ", "@ ", ":", ".") + q[at:]
	}
	to := at + g.random.Intn(len(q)-at)
	return q[:at] + q[to:]
}

func (g *generator) number() string {
	switch g.random.Intn(8) {
	case 0:
		return g.pick("NaN", "Inf", "0", "0x10", "1e3", "010", "1_0", "2m", "1h30m", ".5")
	case 1, 2:
		return strconv.FormatFloat(g.random.NormFloat64()*10, 'f', g.random.Intn(4), 64)
	}
	return strconv.Itoa(g.random.Intn(20))
}

func (g *generator) duration() string {
	return g.pick("5s", "10s", "15s", "30s", "1m", "2m", "150s", "5m", "7m30s", "10m", "60", "1h")
}

func (g *generator) matchers() string {
	all := []string{`job="api"`, `job!="web"`, `job=~"a.*|web"`, `instance=~"[012]"`, `instance!~"3"`, `code="200"`, `code=~"5.."`,
		`namespace="prod"`, `quantile="0.75"`, `quantile=~"0.7.*"`, `missing=""`, `kind!="late"`, `le!="odd"`, `zone="z0"`}
	g.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return "{" + strings.Join(all[:g.random.Intn(3)], ", ") + "}"
}

func (g *generator) selector() string {
	s := g.pick("temperature", "temperature", "capacity", "http_requests_total", "cortex_query_scheduler_inflight_requests",
		"comes_and_goes", "comes_and_goes", "odd", "job_info", "kube_deployment_spec_replicas", "slow:recorded", "request_seconds_bucket",
		`{__name__=~"temperature|capacity"}`, "nothing")
	if s[0] != '{' && g.chance(35) {
		s += g.matchers()
	}
	return s
}

func (g *generator) shift() string {
	s := ""
	if g.chance(15) {
		s += " offset " + g.pick("", "-") + g.duration()
	}
	if g.chance(8) {
		s += " @ " + g.pick("start()", "end()", strconv.FormatInt(dataStart/1000+g.random.Int63n(1800), 10))
	}
	return s
}

func (g *generator) rangeVector(depth int) string {
	if depth > 0 && g.chance(30) {
		inner := "(" + g.vector(depth-1) + ")"
		subquery := inner + "[" + g.duration() + ":" + g.pick("", "5s", "10s", "30s", "1m", "7s") + "]"
		if strings.Contains(inner, "@") {
			// The real engine forgets to shift back when a shifted subquery's first step is the query's own.
			return subquery
		}
		return subquery + g.shift()
	}
	return g.selector() + "[" + g.duration() + "]" + g.shift()
}

func (g *generator) scalar(depth int) string {
	if depth == 0 || g.chance(50) {
		return g.pick(g.number(), g.number(), g.number(), "time()", "pi()", "-"+g.number())
	}
	switch g.random.Intn(4) {
	case 0:
		return "scalar(" + g.vector(depth-1) + ")"
	case 1:
		return "(" + g.scalar(depth-1) + ")"
	case 2:
		return g.scalar(depth-1) + g.pick(" == ", " > ", " <= ", " != ") + "bool " + g.scalar(depth-1)
	}
	return g.scalar(depth-1) + g.arithmetic() + g.scalar(depth-1)
}

func (g *generator) arithmetic() string {
	return g.pick(" + ", " - ", " * ", " / ", " % ", " ^ ", " atan2 ", "+", "-")
}

func (g *generator) comparison() string {
	return g.pick(" > ", " < ", " >= ", " <= ", " == ", " != ") + g.pick("", "", "bool ")
}

func (g *generator) labels() string {
	all := []string{"job", "instance", "code", "namespace", "quantile", "zone", "kind", "n", "le", "missing"}
	g.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return "(" + strings.Join(all[:g.random.Intn(3)], ", ") + ")"
}

func (g *generator) matching() string {
	if g.chance(40) {
		return ""
	}
	s := g.pick("on", "ignoring", "on") + g.pick("(instance)", "(job)", "()", "(instance, job)", g.labels())
	if g.chance(40) {
		s += " " + g.pick("group_left", "group_right") + g.pick("", "()", "(team)", "(zone, kind)")
	}
	return s + " "
}

func (g *generator) aggregation(depth int) string {
	by := ""
	if g.chance(60) {
		by = g.pick(" by ", " without ") + g.labels()
	}
	op := g.pick("sum", "avg", "count", "min", "max", "group", "stddev", "stdvar", "quantile", "topk", "bottomk", "count_values")
	arg := g.vector(depth - 1)
	switch op {
	case "quantile":
		arg = g.pick("0.5", "0.75", "0.99", "1", g.scalar(1)) + ", " + arg
	case "topk", "bottomk":
		// Of values that are unlikely to be equal: which of two equal ones is taken is nobody's promise.
		arg = strconv.Itoa(g.random.Intn(5)) + ", " + g.pick("temperature", "capacity", "rate(temperature[2m])", "avg_over_time(temperature[5m])",
			"temperature * 3", "deriv(capacity[5m])")
	case "count_values":
		// Small whole values: the last digit of others may differ, and would be another label.
		arg = `"value", round(clamp(` + arg + ", -1e6, 1e6))"
	}
	if g.chance(50) {
		return op + by + " (" + arg + ")"
	}
	return op + "(" + arg + ")" + by
}

func (g *generator) call(depth int) string {
	switch g.random.Intn(7) {
	case 0, 1, 2:
		f := g.pick("avg_over_time", "min_over_time", "max_over_time", "sum_over_time", "count_over_time", "stddev_over_time", "stdvar_over_time",
			"last_over_time", "present_over_time", "absent_over_time", "rate", "irate", "increase", "delta", "idelta", "deriv", "resets", "changes")
		return f + "(" + g.rangeVector(depth-1) + ")"
	case 3:
		if g.chance(50) {
			return "quantile_over_time(" + g.pick("0.5", "0.75", "0.9", g.scalar(1)) + ", " + g.rangeVector(depth-1) + ")"
		}
		return "predict_linear(" + g.rangeVector(depth-1) + ", " + g.number() + ")"
	case 4:
		f := g.pick("abs", "ceil", "floor", "round", "exp", "ln", "log2", "log10", "sqrt", "sgn", "deg", "rad", "absent", "sort", "sort_desc",
			"timestamp", "minute", "hour", "day_of_week")
		if f == "minute" || f == "hour" || f == "day_of_week" {
			return f + "(timestamp(" + g.vector(depth-1) + "))"
		}
		return f + "(" + g.vector(depth-1) + ")"
	case 5:
		return g.pick("clamp_min("+g.vector(depth-1)+", "+g.scalar(1)+")", "clamp_max("+g.vector(depth-1)+", "+g.scalar(1)+")",
			"clamp("+g.vector(depth-1)+", "+g.scalar(1)+", "+g.scalar(1)+")", "round("+g.vector(depth-1)+", "+g.number()+")",
			"vector("+g.scalar(depth-1)+")")
	}
	return g.pick(fmt.Sprintf(`label_replace(%s, "%s", "%s", "%s", "%s")`, g.vector(depth-1), g.pick("copy", "job", "instance"),
		g.pick("$1", "x-$1", "${1}", "same", ""), g.pick("job", "instance", "missing", "__name__"), g.pick("(.*)", "(a).*", "([0-9]+)", "")),
		fmt.Sprintf(`label_join(%s, "%s", "-", "job", "instance")`, g.vector(depth-1), g.pick("both", "job")),
		"histogram_quantile("+g.pick("0.5", "0.9", g.scalar(1))+", "+g.pick("request_seconds_bucket", "rate(request_seconds_bucket[5m])",
			"sum by (le) (request_seconds_bucket)", g.vector(depth-1))+")")
}

func (g *generator) vector(depth int) string {
	if depth <= 0 || g.chance(20) {
		return g.selector() + g.shift()
	}
	switch g.random.Intn(10) {
	case 0, 1, 2:
		return g.aggregation(depth)
	case 3, 4, 5:
		return g.call(depth)
	case 6:
		return g.pick("-", "+", "") + "(" + g.vector(depth-1) + ")"
	case 7:
		op := g.arithmetic()
		if g.chance(40) {
			op = g.comparison()
		}
		if g.chance(50) {
			return g.vector(depth-1) + op + g.scalar(depth-1)
		}
		return g.scalar(depth-1) + op + g.vector(depth-1)
	}
	op := g.arithmetic()
	if g.chance(30) {
		op = g.comparison()
	}
	if g.chance(30) {
		op = g.pick(" and ", " or ", " unless ")
	}
	return g.vector(depth-1) + strings.TrimSuffix(op, " ") + " " + g.matching() + g.vector(depth-1)
}
