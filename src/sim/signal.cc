#include "sim/signal.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace activescale::sim {
namespace {

// Prometheus forgets a series that got no sample for this long.
constexpr double kLookbackSeconds = 300;

int64_t Milli(double value) { return std::llround(value * 1000); }

}  // namespace

Signal::Signal(const SignalPath& path, std::mt19937_64& random) : path_(path), random_(random) {}

std::string Signal::PodName(const FleetPod& pod) { return "pod-" + std::to_string(pod.id); }

double Signal::interval() const {
  return IsPush(path_.kind) || path_.kind == PathKind::kKpa ? path_.flush : path_.scrape;
}

double Signal::MaxAge() const {
  switch (path_.kind) {
    case PathKind::kPush:
    case PathKind::kPushAhead:
      return path_.ttl;
    case PathKind::kPrometheusKeda:
      return kLookbackSeconds;
    case PathKind::kCpu:
    case PathKind::kKpa:
      return 3 * interval();
  }
  return 0;
}

void Signal::Observe(double before, double now, const ServiceState& state, const Fleet& fleet) {
  const double keep = std::max(MaxAge(), path_.window);
  std::uniform_real_distribution<double> phase(0, interval());
  for (const FleetPod& pod : fleet.pods()) {
    const bool alive = pod.ready_at <= now && pod.deleted_at > now;
    if (!alive) continue;
    auto [it, added] = pods_.try_emplace(pod.id);
    PodSeries& series = it->second;
    if (added) series.phase = phase(random_);
    const PodLoad load = state.Of(pod, now);
    series.busy_seconds += load.running * (now - before);
    const double due_before = std::floor((before - series.phase) / interval());
    const double due_now = std::floor((now - series.phase) / interval());
    if (due_now <= due_before) continue;
    const bool cpu = path_.kind == PathKind::kCpu;
    const double span =
        series.samples.empty() ? now - std::max(0.0, pod.ready_at) : now - series.samples.back().at;
    const double value =
        cpu ? (span > 0 ? series.busy_seconds / span * path_.cpu_per_busy / 1000 : 0)
            : load.in_flight;
    series.busy_seconds = 0;
    series.samples.push_back({now, value});
    while (series.samples.size() > 1 && series.samples.front().at < now - keep) {
      series.samples.pop_front();
    }
  }
  // A pod that is gone keeps its last samples where the path remembers them (a window, a TTL).
  std::erase_if(pods_, [&](const auto& entry) {
    return entry.second.samples.empty() ? false
                                        : entry.second.samples.back().at < now - keep - interval();
  });
}

double Signal::Value(const PodSeries& series, double now) const {
  if (series.samples.empty() || now - series.samples.back().at > MaxAge()) return -1;
  if (path_.window <= 0) return series.samples.back().value;
  double highest = 0;
  for (const Sample& sample : series.samples) {
    if (sample.at > now - path_.window) highest = std::max(highest, sample.value);
  }
  return highest;
}

double Signal::Sum(double now) const {
  double sum = 0;
  for (const auto& [id, series] : pods_) sum += std::max(0.0, Value(series, now));
  return sum;
}

std::vector<Signal::Seen> Signal::Times(const Fleet& fleet, double now) const {
  std::vector<Seen> times;
  for (const FleetPod& pod : fleet.pods()) {
    const auto series = pods_.find(pod.id);
    if (pod.deleted_at <= now || series == pods_.end()) continue;
    const double value = Value(series->second, now);
    if (value < 0) continue;
    times.push_back({&pod, series->second.samples.back().at, value > 0});
  }
  return times;
}

hpa::MetricAnswer Signal::Answer(const hpa::MetricSpec& spec, const Fleet& fleet, double now) {
  hpa::MetricAnswer answer;
  if (spec.type == hpa::MetricType::kObject || spec.type == hpa::MetricType::kExternal) {
    if (now - cached_at_ >= path_.polling) {
      cached_at_ = now;
      cached_sum_ = Sum(now);
    }
    answer.values.push_back(Milli(cached_sum_));
    return answer;
  }
  const bool by_requests = spec.target_type == hpa::TargetType::kUtilization;
  for (const FleetPod& pod : fleet.pods()) {
    if (by_requests) answer.requests_milli[PodName(pod)] = std::llround(path_.cpu_request);
    if (pod.deleted_at <= now) continue;
    const auto series = pods_.find(pod.id);
    if (series == pods_.end()) continue;
    const double value = Value(series->second, now);
    if (value < 0) continue;
    const auto at = std::chrono::milliseconds(Milli(series->second.samples.back().at));
    answer.by_pod[PodName(pod)] = {.value_milli = Milli(value),
                                   .timestamp = base::WallTime(at),
                                   .window = std::chrono::seconds(std::llround(interval()))};
  }
  if (answer.by_pod.empty()) answer.error = "no pod has telemetry";
  return answer;
}

}  // namespace activescale::sim
