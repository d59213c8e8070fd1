package main

const mistakes = `

(
)
()
1 +
+ + 
* 1
1 1
temperature temperature
temperature{
temperature}
temperature{job}
temperature{job=}
temperature{job=api}
temperature{job="api"
temperature{job="api" instance="0"}
temperature{,}
temperature{job=="api"}
temperature{job=~"("}
temperature{job="api"}}
temperature{"other"}
temperature{__name__="other"}
{}
{job=""}
{job=~".*"}
{__name__=""}
temperature[
temperature[]
temperature[5m
temperature[5m]]
temperature[-5m]
temperature[0]
temperature[0s]
temperature[5m:0s]
temperature[:5m]
temperature[5m::]
temperature[5x]
temperature[5m][5m]
temperature[5m][5m:]
temperature offset
temperature offset x
temperature offset 1m offset 2m
temperature offset 1m [5m]
temperature @ TIME [5m]
temperature @
temperature @ x
temperature @ TIME @ TIME
temperature @ Inf
temperature @ NaN
temperature @ start
temperature @ start(1)
1 offset 5m
1 @ 5
(temperature) offset 5m
rate(http_requests_total[5m]) offset 5m
sum(temperature) @ TIME
temperature[5m] + 1
"a" + 1
"a" + "b"
-"a"
-temperature[5m]
1 > 2
1 and 2
1 and temperature
temperature or 1
temperature + bool temperature
1 + bool 2
temperature and bool temperature
temperature and on(job) group_left capacity
temperature + group_left capacity
temperature + on job capacity
temperature + on(1) capacity
temperature + on(job) group_left(job) capacity
temperature + on(job,,instance) temperature
temperature + on(job) 1
1 + on(job) temperature
1 + on() temperature
1 + ignoring(job) 2
temperature ignoring(job) temperature
nofunction(1)
nofunction
rate(temperature)
rate()
rate(http_requests_total[5m], 1)
rate(http_requests_total[5m],)
rate http_requests_total[5m]
abs(1)
abs("a")
abs()
abs(temperature, temperature)
clamp(temperature, 1)
clamp(temperature, 1, 2, 3)
clamp_min(temperature, temperature)
round(temperature, 1, 2)
round()
scalar(1)
vector(temperature)
time(1)
label_replace(temperature, 1, "a", "b", "c")
label_replace(temperature, "a", "b", "c")
label_join(temperature, "a")
sum()
sum(1)
sum(temperature, temperature)
sum(temperature[5m])
sum by job (temperature)
sum by (1) (temperature)
sum by (job) without (job) (temperature)
sum by (without) (temperature)
sum temperature
topk(temperature)
topk(1)
topk("a", temperature)
topk(temperature, 1)
topk(1e30, temperature)
quantile(temperature, 0.5)
count_values(1, temperature)
quantile_over_time(temperature[5m], 0.5)
bool
on
group_left(1)
atan2
1 === 2
1 = 2
1 =~ 2
temperature =~ "a"
1 != 2
1 ! 2
~1
a.b
a-b-
$a
a & b
a ; b
'a
"a\
0x
0xg
1..2
1.2.3
1.e3
1e5.5
5m5
00
sum(temperature))
((temperature)
{job="api"}{code="200"}
temperature{job="api"}[5m]{code="200"}
temperature by (job)
holt_winters(temperature[5m], 0.5, 0.5)
limitk(1, temperature)
mad_over_time(temperature[5m])
info(temperature)
sort_by_label(temperature, "job")
double_exponential_smoothing(temperature[5m], 0.5, 0.5)
temperature[5m+1m]
temperature offset (5m)
temperature[(5m)]
temperature offset 5m + 1
temperature offset -5m * 2
temperature offset - -5m
temperature offset + - + 5m
temperature offset 0m
temperature[- -5m]
foo::bar
:
a:b
1:2
ä
"ä" + 1
{"ä"="x"}
sum by ("ä") (temperature)`
