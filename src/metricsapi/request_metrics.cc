#include "metricsapi/request_metrics.h"

#include <algorithm>
#include <string>
#include <vector>

namespace activescale::metricsapi {

namespace {

constexpr std::array<std::string_view, 4> kVerbNames = {"get", "list", "watch", "other"};
enum ResourceIndex : size_t { kPods, kObjects, kExternal, kNonResource, kOther };
constexpr std::array<std::string_view, 5> kResourceNames = {"pods", "objects", "external",
                                                            "nonresource", "other"};
/// The last one stands for every other code.
constexpr std::array<int, 11> kCodeValues = {200, 400, 401, 403, 404, 405, 413, 429, 500, 503, 0};

/// Seconds; the answer is meant to take half a millisecond.
const std::vector<double> kDurationBuckets = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                              0.01,   0.025,   0.05,   0.1,   0.25,   0.5,
                                              1,      2.5,     5,      10};

size_t ResourceOf(const RequestInfo& info) {
  if (!info.is_resource) return kNonResource;
  if (info.group == "external.metrics.k8s.io") return kExternal;
  if (info.group != "custom.metrics.k8s.io") return kOther;
  return info.resource == "pods" ? kPods : kObjects;
}

}  // namespace

RequestMetrics::RequestMetrics(telemetry::Registry& registry) : registry_(registry) {
  for (size_t i = 0; i < kResources; ++i) {
    durations_[i] =
        &registry.AddHistogram("activescale_api_request_duration_seconds",
                               "Time from a whole request to its answer, by resource",
                               kDurationBuckets, {{"resource", std::string(kResourceNames[i])}});
  }
}

RequestMetrics::Series RequestMetrics::SeriesOf(const RequestInfo& info) {
  const auto* verb = std::ranges::find(kVerbNames, info.verb);
  const size_t index = static_cast<size_t>(verb - kVerbNames.begin());
  return {std::min(index, kVerbs - 1), ResourceOf(info)};
}

void RequestMetrics::Count(Series series, int code, std::chrono::nanoseconds took) {
  const auto* found = std::ranges::find(kCodeValues, code);
  const size_t code_index = std::min(static_cast<size_t>(found - kCodeValues.begin()), kCodes - 1);
  auto& slot = counters_[(series.verb * kResources + series.resource) * kCodes + code_index];
  telemetry::Counter* counter = slot.load(std::memory_order_acquire);
  if (counter == nullptr) {
    // Two threads may both come here: the registry gives them the same counter.
    const int value = kCodeValues[code_index];
    counter = &registry_.AddCounter("activescale_api_requests_total", "Requests answered",
                                    {{"verb", std::string(kVerbNames[series.verb])},
                                     {"resource", std::string(kResourceNames[series.resource])},
                                     {"code", value == 0 ? "other" : std::to_string(value)}});
    slot.store(counter, std::memory_order_release);
  }
  counter->Increment();
  durations_[series.resource]->Observe(std::chrono::duration<double>(took).count());
}

}  // namespace activescale::metricsapi
