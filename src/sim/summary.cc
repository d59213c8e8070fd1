#include "sim/summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace activescale::sim {
namespace {

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = values.begin() +
                  static_cast<long>(std::floor(share * static_cast<double>(values.size() - 1)));
  std::ranges::nth_element(values, at);
  return *at;
}

/// In-flight of one pod at which the HPA's first metric is at its target.
double TargetInFlight(const Scenario& scenario) {
  const hpa::MetricSpec& metric = scenario.hpa.metrics.front();
  const auto target = static_cast<double>(metric.target);
  if (metric.type != hpa::MetricType::kResource) return target / 1000;
  const double milli_cpu = metric.target_type == hpa::TargetType::kUtilization
                               ? target / 100 * scenario.path.cpu_request
                               : target;
  return milli_cpu / scenario.path.cpu_per_busy;
}

/// Replicas that the load calls for, as a line in the rate: in flight over the target of one pod.
double Called(const Scenario& scenario, double qps) {
  const double replicas = qps * scenario.service.latency / TargetInFlight(scenario);
  return std::clamp<double>(replicas, scenario.hpa.min_replicas, scenario.hpa.max_replicas);
}

void FillScaling(const Scenario& scenario, const Run& run, Summary* out) {
  const std::vector<TimelinePoint>& line = run.timeline;
  double base = Called(scenario, line.front().qps);
  double rise = -1;
  for (const TimelinePoint& point : line) base = std::min(base, Called(scenario, point.qps));
  double called_area = 0;
  double unmet_area = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const double called = Called(scenario, line[i].qps);
    if (rise < 0 && i > 0 && line[i].qps > line[i - 1].qps) rise = line[i - 1].at;
    if (called <= base) continue;
    called_area += (called - base) * scenario.step;
    unmet_area += std::max(0.0, called - line[i].serving) * scenario.step;
  }
  if (called_area > 0) out->coverage = 100 * (1 - unmet_area / called_area);
  if (rise < 0) return;
  for (size_t i = 1; i < line.size(); ++i) {
    if (line[i].at <= rise) continue;
    if (out->scaling_start < 0 && line[i].desired > line[i - 1].desired) {
      out->scaling_start = line[i].at - rise;
    }
    if (line[i].desired >= out->max_replicas) {
      out->time_to_max = line[i].at - rise;
      return;
    }
  }
}

}  // namespace

Summary Summarize(const Scenario& scenario, Run& run) {
  Summary out;
  if (run.timeline.empty()) return out;
  std::vector<double> replicas;
  std::vector<double> queues;
  int direction = 0;
  for (size_t i = 0; i < run.timeline.size(); ++i) {
    const TimelinePoint& point = run.timeline[i];
    replicas.push_back(point.ready);
    queues.push_back(point.queued);
    out.average_replicas += point.ready;
    out.pod_hours += point.ready * scenario.step / 3600;
    out.max_replicas = std::max<double>(out.max_replicas, point.desired);
    if (point.desired >= scenario.hpa.max_replicas) out.time_at_max += scenario.step;
    const int32_t before = i == 0 ? point.desired : run.timeline[i - 1].desired;
    const int turn = point.desired > before ? 1 : (point.desired < before ? -1 : 0);
    if (turn != 0 && direction != 0 && turn != direction) ++out.direction_changes;
    if (turn != 0) direction = turn;
  }
  out.average_replicas /= static_cast<double>(run.timeline.size());
  out.p95_replicas = Quantile(replicas, 0.95);
  out.queue_p50 = Quantile(queues, 0.5);
  out.queue_p90 = Quantile(queues, 0.9);
  out.queue_p99 = Quantile(queues, 0.99);
  out.latency_p50 = run.latencies.Quantile(0.5);
  out.latency_p90 = run.latencies.Quantile(0.9);
  out.latency_p99 = run.latencies.Quantile(0.99);
  out.unmet = run.refused + run.timeline.back().queued;
  FillScaling(scenario, run, &out);
  return out;
}

}  // namespace activescale::sim
