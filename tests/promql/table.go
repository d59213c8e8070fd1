package main

import "strings"

// table names each function and operator, each form of literal and modifier, and each kind of
// mistake. TIME stands for a moment of the data in seconds.
func table() []string {
	var all []string
	all = append(all, lines(seedQueries)...)
	all = append(all, lines(literals)...)
	all = append(all, lines(selectors)...)
	all = append(all, lines(operators)...)
	all = append(all, lines(aggregations)...)
	all = append(all, lines(functions)...)
	all = append(all, lines(subqueries)...)
	all = append(all, lines(mistakes)...)
	for _, f := range strings.Fields(rangeFunctions) {
		for _, arg := range []string{"http_requests_total[2m]", "temperature[90s]", "comes_and_goes[5m]", "odd[3m]", "cortex_query_scheduler_inflight_requests[5s]"} {
			all = append(all, f+"("+arg+")")
		}
	}
	for _, f := range strings.Fields(valueFunctions) {
		all = append(all, f+"(temperature)", f+"(odd)")
	}
	for _, f := range strings.Fields(dateFunctions) { // of odd values these are undefined
		all = append(all, f+"(temperature * 1e7)", f+"(timestamp(temperature))", f+"()")
	}
	return all
}

func lines(text string) []string {
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line = strings.ReplaceAll(line, `\n`, "\n")
		out = append(out, strings.ReplaceAll(line, "TIME", "1700001000"))
	}
	return out
}

const rangeFunctions = `avg_over_time min_over_time max_over_time sum_over_time count_over_time stddev_over_time
	stdvar_over_time last_over_time present_over_time absent_over_time rate irate increase delta idelta deriv resets changes`

const valueFunctions = `abs ceil floor round exp ln log2 log10 sqrt sgn deg rad sin cos tan asin acos atan sinh cosh tanh
	asinh acosh atanh timestamp sort sort_desc absent scalar`

const dateFunctions = `day_of_month day_of_week day_of_year days_in_month hour minute month year`

// seedQueries are the published ones of Loki's queriers, with their template filled in.
const seedQueries = `
sum(max_over_time(cortex_query_scheduler_inflight_requests{namespace="prod", quantile="0.75"}[2m]))
sum(max_over_time(cortex_query_scheduler_inflight_requests{namespace=~"prod|dev", quantile="0.75"}[2m]))
clamp_min(ceil(avg(avg_over_time(cortex_query_scheduler_inflight_requests{namespace=~"prod", quantile="0.75"}[7d])) / scalar(floor(vector(6 * 0.75)))), 2)
clamp_min(ceil((max(max_over_time(cortex_query_scheduler_inflight_requests{namespace=~"prod", quantile="0.5"}[7d])) / 6 > max (kube_deployment_spec_replicas{namespace=~"prod", deployment="querier"})) or max(kube_deployment_spec_replicas{namespace=~"prod", deployment="querier"})), 20)
kube_horizontalpodautoscaler_status_current_replicas{namespace=~"prod"} == kube_horizontalpodautoscaler_spec_max_replicas{namespace=~"prod"}
kube_horizontalpodautoscaler_status_current_replicas == ignoring(none) kube_horizontalpodautoscaler_spec_max_replicas`

const literals = `
1
-1
+1
.5
1.
0x1f
0X1F
0x_1f
0x1e
0x1e + 1
017
08
1_000
1_000.5
1__0
1_
1e3
1E-3
1e+3
1e
1e400
1e-400
0b11
Inf
-inf
+Inf
NaN
nAn
1h
1h30m
5ms
1y2w3d4h5m6s7ms
1m1h
1h1h
1.5h
0s
1s1
300y
9223372036854775807
9223372036854775808
"text"
'it''s'
'a\'b'
"a\"b\\\n\t\x41\101\u00e4\U0001F600"
"\q"
"\x4"
"\ud800"
"\'"
` + "`raw \\n`" + `
"open
# only a comment
1 # comment
1 # comment\n+ 2
1 + 2 * 3 ^ 2 ^ 0.5 - -4 % 3 / 2
2 ^ -1
-2 ^ 2
2 ^ -1 ^ 2 * 3
-1 ^ 0.5
1 atan2 2
--1
- - 1
(1)
((1) + (2))
pi()
time()
time() - TIME
scalar(vector(1)) + 1
1 > bool 2
1 == bool 1
1 <= bool NaN
5 % 0
1 / 0
-1 / 0
0 / 0
-5 % 3`

const selectors = `
temperature
temperature{}
temperature{job="api"}
temperature{job!="api"}
temperature{job=~"a.*"}
temperature{job!~"a.*"}
temperature{job=~"a|web"}
temperature{job=~"a"}
temperature{job=~""}
temperature{missing=""}
temperature{missing!=""}
temperature{job="api",}
temperature{job="api", instance=~"0|1|2"}
{__name__="temperature"}
{__name__=~"temp.*"}
{"temperature"}
{"temperature", job="api"}
{"temperature", "job"="api"}
{__name__=~"kube_.+", namespace="dev"}
{job=~".+", instance="0"}
slow:recorded
slow:recorded{utf="ä\n\""}
slow:recorded{utf=~"ä.\""}
comes_and_goes
comes_and_goes offset 1m
comes_and_goes offset 5m
comes_and_goes offset -5m
comes_and_goes offset 1h
comes_and_goes offset 90
comes_and_goes offset -90.5
comes_and_goes @ TIME
comes_and_goes @ TIME.5
comes_and_goes @ -5
comes_and_goes @ 1h
comes_and_goes @ start()
comes_and_goes @ end()
comes_and_goes @ TIME offset 1m
comes_and_goes offset 1m @ TIME
comes_and_goes[1m]
comes_and_goes[1m] offset 2m
comes_and_goes[1m] @ TIME
comes_and_goes[1m] @ start() offset 10s
comes_and_goes[ 1m ]
comes_and_goes[60]
comes_and_goes[0x3c]
comes_and_goes[1e2]
comes_and_goes[0.5]
comes_and_goes[0.0001]
comes_and_goes[5s]
cortex_query_scheduler_inflight_requests[5s]
cortex_query_scheduler_inflight_requests[10s]
count_over_time(cortex_query_scheduler_inflight_requests[1m])
(comes_and_goes)
(comes_and_goes[1m])
rate((http_requests_total[2m]))
sum
sum{job="api"}
by
and
offset
start
end
nothing
absent(nothing)
absent(nothing{job="api", code=~"2.."})
absent(nothing{job="api", job="web"})
absent(nothing{job="api", job!="web"})
absent(nothing{job!="web", job="api"})
absent(sum(nothing))
absent(temperature)
absent_over_time(nothing{job="api"}[5m])
absent_over_time(nothing{job="api"}[5m:1m])
absent_over_time(comes_and_goes{kind="stale"}[10s])
absent_over_time((nothing{job="api"}[5m]))
absent((nothing{job="api"}))
timestamp(temperature)
timestamp(temperature @ TIME)
timestamp(temperature @ TIME offset 1m)
timestamp(temperature offset 1m)
timestamp((temperature))
timestamp(temperature + 1)
timestamp(timestamp(temperature))`

const operators = `
temperature + 1
1 - temperature
temperature * 2 > 10
10 < temperature
temperature > bool 5
5 > bool temperature
temperature == temperature
temperature != temperature
odd == odd
odd > 0
odd >= bool 0
odd atan2 2
odd % 3
-temperature
-{__name__=~"temp.*|capacity"}
-odd
+temperature
temperature + temperature
temperature + on(instance) temperature
temperature + on(instance, job) temperature
temperature + ignoring(job) temperature
temperature + on(instance) capacity
temperature / on(instance) capacity
temperature / on(instance) group_left capacity
temperature / on(instance) group_left(zone) capacity
temperature / on(instance) group_right capacity
temperature * on(job) group_left(team) job_info
job_info * on(job) group_right(team) temperature
job_info * on(job) group_right temperature
temperature * on(job) job_info
job_info * on(job) temperature
temperature > on(job) group_left(team) job_info
temperature > bool on(job) group_left(team) job_info
temperature > on(instance) capacity
capacity > on(instance) temperature
capacity > bool on(instance) temperature
http_requests_total{code="500"} / ignoring(code) http_requests_total{code="200"}
http_requests_total / ignoring(code) http_requests_total{code="200"}
http_requests_total / ignoring(code) group_left http_requests_total{code="200"}
http_requests_total{code="200"} / ignoring(code) group_right http_requests_total
http_requests_total / ignoring(code) group_left() http_requests_total{code="200"}
http_requests_total + on() group_left vector(1)
vector(1) + on() group_right() http_requests_total
http_requests_total + on() http_requests_total
sum(temperature) + sum(capacity)
temperature and capacity
temperature and on(instance) capacity
temperature and on() vector(1)
temperature and ignoring(job) capacity
temperature or capacity
temperature or on(instance) capacity
temperature or on() capacity
temperature unless on(instance) capacity
temperature unless capacity
temperature unless on() vector(1)
temperature and nothing
nothing and temperature
nothing or temperature
temperature or nothing
nothing unless temperature
temperature or temperature
temperature AND ON(instance) capacity
temperature + nothing
comes_and_goes or vector(0)
comes_and_goes and comes_and_goes > 3
{__name__=~"temperature|capacity"} + 1
{__name__=~"temperature|capacity"} > 1
1 + 2 > bool 2 == bool 1
temperature > 3 and temperature < 10 or capacity unless capacity > 900
temperature + on(instance, zone) group_left(zone) capacity
vector(1) == on() group_left vector(1)
vector(3) ^ vector(2)
temperature == bool on(instance) group_left() temperature`

const aggregations = `
sum(temperature)
sum by (job) (temperature)
sum by(job)(temperature)
sum(temperature) by (job)
sum without (instance) (temperature)
sum(temperature) without (instance, job)
sum by () (temperature)
sum without () (temperature)
sum by (job,) (temperature)
sum by (missing) (temperature)
sum by ("job") (temperature)
sum by (__name__) ({__name__=~"temp.*|cap.*"})
sum by (sum, by, on) (temperature)
SUM(temperature)
avg(temperature)
avg(odd)
avg by (n) (odd)
count(temperature)
count by (code) (http_requests_total)
min(temperature)
max(temperature)
min(odd)
max(odd)
group(temperature)
group by (job) (temperature)
stddev(temperature)
stdvar by (job) (temperature)
stddev(odd)
topk(2, temperature)
topk(0, temperature)
topk(-1, temperature)
topk(100, temperature)
topk(1.9, temperature)
topk(NaN, temperature)
topk(NaN, nothing)
topk(Inf, temperature)
topk by (job) (1, temperature)
topk(1, temperature) by (job)
bottomk(2, temperature)
bottomk(1, temperature) without (instance)
topk(scalar(vector(2)), temperature)
count_values("value", cortex_query_scheduler_inflight_requests)
count_values by (namespace) ("value", cortex_query_scheduler_inflight_requests)
count_values without (quantile) ("value", cortex_query_scheduler_inflight_requests)
count_values("namespace", cortex_query_scheduler_inflight_requests)
count_values("v", odd)
count_values("", odd)
count_values(("v"), odd)
quantile(0.5, temperature)
quantile(0.75, temperature)
quantile by (job) (0.9, temperature)
quantile(-1, temperature)
quantile(2, temperature)
quantile(NaN, temperature)
quantile(0, temperature)
quantile(1, temperature)
quantile(0.5, odd)
sum(count by (job) (temperature))
sum(sum)
max(rate(http_requests_total[2m])) by (job)
sum(nothing)
count(nothing)
sum(vector(1))
avg(http_requests_total) by (job, code) > 100`
