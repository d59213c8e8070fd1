#include "metricsapi/custom_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "metricsapi/status.h"
#include "metricsapi/workload_kind.h"

namespace activescale::metricsapi {

namespace {

using base::Code;
using metric::PodKey;
using store::PodReading;

constexpr std::string_view kGroup = "custom.metrics.k8s.io";
/// Names told in a message; the rest is a number.
constexpr size_t kNamesShown = 5;

/// Seconds; around the flush intervals in use (1 to 30 s) and the TTL.
const std::vector<double> kAgeBuckets = {0.1, 0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 60};

StatusDetails DetailsOf(const CustomMetricsQuery& query) {
  return {std::string(kGroup), query.resource, query.name};
}

/// "web-1, web-2 and 7 more".
std::string NameSome(const std::vector<std::string_view>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > kNamesShown) text += fmt::format(" and {} more", names.size() - kNamesShown);
  return text;
}

/// Calendar time of a moment on our monotonic clock.
class WallClock {
 public:
  explicit WallClock(const base::Clock& clock)
      : steady_now_(clock.Now()), wall_now_(clock.WallNow()) {}
  [[nodiscard]] base::WallTime At(base::SteadyTime time) const {
    return wall_now_ + std::chrono::duration_cast<base::WallTime::duration>(time - steady_now_);
  }

 private:
  base::SteadyTime steady_now_;
  base::WallTime wall_now_;
};

DescribedObject DescribeObject(const CustomMetricsQuery& query) {
  const auto found = std::ranges::find(kWorkloadKinds, query.resource, &WorkloadKind::resource);
  if (found != kWorkloadKinds.end()) {
    return {found->kind, found->api_version, query.ns, query.name};
  }
  const size_t dot = query.resource.find('.');
  const std::string_view resource = query.resource;
  return {resource.substr(0, dot), dot == std::string_view::npos ? "v1" : resource.substr(dot + 1),
          query.ns, query.name};
}

net::HttpResponse ListResponse(const CustomMetricsQuery& query,
                               const std::vector<MetricValue>& values) {
  net::HttpResponse response;
  const auto window = query.window ? query.window->window : std::chrono::milliseconds(0);
  response.body =
      WriteMetricValueList(query.version, metric::MetricName(query.metric), query.metric_selector,
                           values, std::chrono::duration_cast<std::chrono::seconds>(window));
  return response;
}

/// The items of a list: of each pod, or the one of the object, as old as its oldest part.
std::vector<MetricValue> ValuesOf(const CustomMetricsQuery& query,
                                  const CustomMetricsAnswer& answer, const WallClock& wall) {
  if (answer.sum) {
    const auto oldest = std::ranges::min(answer.pods, {}, &CustomMetricsAnswer::Pod::received);
    return {{DescribeObject(query), wall.At(oldest.received), *answer.sum}};
  }
  std::vector<MetricValue> values;
  values.reserve(answer.pods.size());
  for (const CustomMetricsAnswer::Pod& pod : answer.pods) {
    values.push_back({{"Pod", "v1", query.ns, pod.name}, wall.At(pod.received), pod.value});
  }
  return values;
}

std::vector<PodKey> KeysOf(const std::vector<kube::WorkloadPod>& pods) {
  std::vector<PodKey> keys;
  keys.reserve(pods.size());
  for (const kube::WorkloadPod& pod : pods) keys.push_back(pod.key);
  return keys;
}

/// Labels that a metric has for selectors: a window is none, but is asked for like one.
metric::Labels LabelsOf(const metric::Selector& selector, bool has_window) {
  std::vector<metric::Labels::Entry> labels;
  for (const metric::Requirement& requirement : selector.requirements()) {
    const bool of_window = requirement.key == kWindowKey || requirement.key == kStatKey;
    if (has_window && of_window) labels.emplace_back(requirement.key, requirement.values.at(0));
  }
  return metric::Labels(std::move(labels));
}

/// What to say when nothing is known of any pod that was asked for.
std::string NoTelemetry(const CustomMetricsQuery& query, const std::vector<PodKey>& pods) {
  std::vector<std::string_view> names;
  for (const PodKey& pod : pods) names.push_back(pod.name);
  return fmt::format(
      "no fresh telemetry for {}: no Envoy has pushed within the TTL for {} pod{} in namespace "
      "{} ({}); this is not zero; check that their Envoys push to this service and that the pods "
      "were restarted after that was configured",
      metric::MetricName(query.metric), pods.size(), pods.size() == 1 ? "" : "s", query.ns,
      NameSome(names));
}

}  // namespace

CustomMetrics::CustomMetrics(const kube::PodIndex& pods, store::SampleStore& samples,
                             const signal::WindowReader& windows, const base::Clock& clock,
                             telemetry::Registry& registry)
    : pods_(pods),
      samples_(samples),
      windows_(windows),
      clock_(clock),
      synthesized_zeros_(registry.AddCounter(
          "activescale_synthesized_zeros_total",
          "Values served as 0 because the pod's Envoy pushes and does not have the metric")),
      saturated_sums_(registry.AddCounter("activescale_saturated_sums_total",
                                          "Sums over a workload that hit the largest quantity")),
      freshness_(registry.AddHistogram("activescale_metric_freshness_seconds",
                                       "Age of each value when it was served", kAgeBuckets,
                                       {{"group", std::string(kGroup)}})) {}

void CustomMetrics::Read(CustomMetricsQuery query, net::HttpResponder respond) {
  auto shared = std::make_shared<const CustomMetricsQuery>(std::move(query));
  ReadValues(shared, [this, shared, respond = std::move(respond)](
                         base::Result<CustomMetricsAnswer> answer) mutable {
    respond(answer ? ListResponse(*shared, ValuesOf(*shared, *answer, WallClock(clock_)))
                   : StatusResponse(answer.error(), DetailsOf(*shared)));
  });
}

void CustomMetrics::ReadValues(Query query, Answered done) {
  if (!query->metric_selector.Matches(
          LabelsOf(query->metric_selector, query->window.has_value()))) {
    return done(base::Fail(
        Code::kNotFound,
        fmt::format("no series of {} has labels that match \"{}\": the metric carries no labels; "
                    "select pods by labelSelector, and a window by window=2m,stat=p75",
                    metric::MetricName(query->metric), query->metric_selector.ToString())));
  }
  if (query->resource != "pods") {
    const std::string& ns = query->ns;
    const kube::WorkloadRef workload = {query->resource, query->name};
    return pods_.Prepare(ns, workload, [this, query, done = std::move(done)]() mutable {
      ReadObject(query, std::move(done));
    });
  }
  if (query->name == "*") {
    auto pods = pods_.Select(query->ns, query->pod_selector);
    if (!pods) return done(std::unexpected(std::move(pods.error())));
    if (pods->empty()) return done(CustomMetricsAnswer{});
    return ReadPods(std::move(query), *std::move(pods), std::move(done));
  }
  const auto known = pods_.Contains({query->ns, query->name});
  if (!known) return done(std::unexpected(known.error()));
  if (!*known) {
    return done(base::Fail(Code::kNotFound, fmt::format("pods \"{}\" not found in namespace {}",
                                                        query->name, query->ns)));
  }
  std::vector<PodKey> pods = {{query->ns, query->name}};
  ReadPods(std::move(query), std::move(pods), std::move(done));
}

void CustomMetrics::ReadPods(Query query, std::vector<PodKey> pods, Answered done) {
  std::vector<PodKey> asked = pods;
  const metric::MetricKind kind = query->metric;
  samples_.Read(std::move(asked), kind,
                [this, query = std::move(query), pods = std::move(pods),
                 done = std::move(done)](base::Result<store::ReadResult> result) mutable {
                  if (result && query->window) {
                    result = WithWindows(*query, pods, *std::move(result));
                  }
                  if (!result) return done(std::unexpected(std::move(result.error())));
                  done(AnswerPods(*query, pods, *result));
                });
}

void CustomMetrics::ReadObject(Query query, Answered done) {
  auto pods = pods_.PodsOf(query->ns, {query->resource, query->name});
  if (!pods) return done(std::unexpected(std::move(pods.error())));
  if (pods->empty()) {
    return done(base::Fail(Code::kNotFound,
                           fmt::format("{} \"{}\" has no pods, hence no {}", query->resource,
                                       query->name, metric::MetricName(query->metric))));
  }
  std::vector<PodKey> asked = KeysOf(*pods);
  const metric::MetricKind kind = query->metric;
  samples_.Read(std::move(asked), kind,
                [this, query = std::move(query), pods = *std::move(pods),
                 done = std::move(done)](base::Result<store::ReadResult> result) mutable {
                  if (!result) return done(std::unexpected(std::move(result.error())));
                  done(AnswerObject(*query, pods, *result));
                });
}

base::Result<CustomMetricsAnswer> CustomMetrics::AnswerPods(const CustomMetricsQuery& query,
                                                            const std::vector<PodKey>& pods,
                                                            const store::ReadResult& result) const {
  const base::SteadyTime now = clock_.Now();
  CustomMetricsAnswer answer;
  answer.partial = result.partial;
  answer.pods.reserve(pods.size());
  for (size_t i = 0; i < pods.size(); ++i) {
    const PodReading& reading = result.readings[i];
    if (reading.state == PodReading::State::kMissing) continue;
    Observe(reading, now);
    answer.pods.push_back({pods[i].name, reading.value, reading.received});
  }
  if (!answer.pods.empty()) return answer;
  if (result.partial) {
    return base::Fail(Code::kUnavailable,
                      "the part of the store that holds these pods does not answer");
  }
  return base::Fail(Code::kNotFound, NoTelemetry(query, pods));
}

base::Result<CustomMetricsAnswer> CustomMetrics::AnswerObject(
    const CustomMetricsQuery& query, const std::vector<kube::WorkloadPod>& pods,
    const store::ReadResult& result) const {
  if (result.partial) {
    return base::Fail(Code::kUnavailable,
                      "a part of the store does not answer, so the sum would be too small");
  }
  const base::SteadyTime now = clock_.Now();
  CustomMetricsAnswer answer;
  metric::Quantity sum;
  bool saturated = false;
  std::vector<std::string_view> silent;
  for (size_t i = 0; i < pods.size(); ++i) {
    const PodReading& reading = result.readings[i];
    if (reading.state == PodReading::State::kMissing) {
      if (!pods[i].starting) silent.push_back(pods[i].key.name);
      continue;
    }
    sum = sum.SaturatingAdd(reading.value, &saturated);
    answer.pods.push_back({pods[i].key.name, reading.value, reading.received});
  }
  if (answer.pods.empty()) return base::Fail(Code::kNotFound, NoTelemetry(query, KeysOf(pods)));
  if (!silent.empty()) {
    return base::Fail(
        Code::kNotFound,
        fmt::format("the sum of {} over {} \"{}\" is not known: {} of {} pods have no "
                    "fresh telemetry ({})",
                    metric::MetricName(query.metric), query.resource, query.name, silent.size(),
                    pods.size(), NameSome(silent)));
  }
  for (const PodReading& reading : result.readings) {
    if (reading.state != PodReading::State::kMissing) Observe(reading, now);
  }
  if (saturated) saturated_sums_.Increment();
  if (query.window) {
    const auto value =
        windows_.OfSum(metric::MetricName(query.metric), KeysOf(pods), *query.window);
    if (!value) return std::unexpected(value.error());
    sum = metric::Quantity::FromSample(*value).value_or(sum);
  }
  answer.sum = sum;
  return answer;
}

base::Result<store::ReadResult> CustomMetrics::WithWindows(const CustomMetricsQuery& query,
                                                           const std::vector<PodKey>& pods,
                                                           store::ReadResult result) const {
  const auto values = windows_.OfEach(metric::MetricName(query.metric), pods, *query.window);
  if (!values) return std::unexpected(values.error());
  for (size_t i = 0; i < pods.size(); ++i) {
    PodReading& reading = result.readings[i];
    if (reading.state == PodReading::State::kMissing) continue;
    const auto value = (*values)[i] ? metric::Quantity::FromSample(*(*values)[i]) : std::nullopt;
    if (value) {
      reading.state = PodReading::State::kValue;
      reading.value = *value;
    } else {
      reading.state = PodReading::State::kMissing;
    }
  }
  return result;
}

void CustomMetrics::Observe(const PodReading& reading, base::SteadyTime now) const {
  freshness_.Observe(std::chrono::duration<double>(now - reading.received).count());
  if (reading.state == PodReading::State::kSynthesizedZero) synthesized_zeros_.Increment();
}

}  // namespace activescale::metricsapi
