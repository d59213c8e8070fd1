#include "insight/watched_snapshot.h"

#include <array>
#include <utility>

#include "metric/metric_kind.h"

namespace activescale::insight {
namespace {

hpa::Pod MakePod(const WorkloadPageInput& input, const std::string& name) {
  hpa::Pod pod{.name = name};
  const auto info = input.find_pod ? input.find_pod({input.ns, name}) : std::nullopt;
  if (!info) return pod;
  pod.phase = info->phase;
  pod.deleting = info->terminating;
  pod.ready = info->ready;
  pod.started = info->created;
  return pod;
}

/// What the custom metrics API would answer of a metric of pods.
hpa::MetricAnswer AnswerOf(metric::MetricKind kind, const WorkloadSight* target,
                           base::WallTime at) {
  hpa::MetricAnswer answer;
  if (target == nullptr) return answer;
  for (const PodSight& pod : target->pods) {
    const auto& value = pod.values[static_cast<size_t>(kind)];
    if (value) answer.by_pod[pod.name] = {.value_milli = value->milli(), .timestamp = at};
  }
  return answer;
}

/// A metric that the store has as it is asked for.
std::optional<metric::MetricKind> SeenKind(const hpa::MetricSpec& spec,
                                           const kube::MetricSource& source) {
  if (spec.type != hpa::MetricType::kPods || !source.selector.empty()) return std::nullopt;
  return metric::ParseMetricKind(spec.name);
}

}  // namespace

std::optional<WatchedSnapshot> SnapshotFromWatches(const WorkloadPageInput& input,
                                                   const WorkloadSight* target,
                                                   const HpaSight& hpa) {
  WatchedSnapshot out;
  Snapshot& snapshot = out.snapshot;
  snapshot.taken_at = input.fleet.at;
  snapshot.hpa = hpa.object;
  snapshot.hpa.spec.metrics.clear();
  snapshot.hpa.sources.clear();
  for (size_t i = 0; i < hpa.object.spec.metrics.size(); ++i) {
    const hpa::MetricSpec& spec = hpa.object.spec.metrics[i];
    const kube::MetricSource& source = hpa.object.sources[i];
    const auto kind = SeenKind(spec, source);
    if (!kind) {
      out.unseen.push_back(kube::MetricTitle(spec, source));
      continue;
    }
    snapshot.hpa.spec.metrics.push_back(spec);
    snapshot.hpa.sources.push_back(source);
    snapshot.seen.answers.push_back(AnswerOf(*kind, target, input.fleet.at));
    snapshot.denied.push_back(false);
  }
  if (snapshot.hpa.spec.metrics.empty()) return std::nullopt;

  const auto deployment = input.deployments.find({input.ns, input.name});
  snapshot.seen.status_replicas = hpa.current_replicas;
  snapshot.seen.spec_replicas =
      deployment == input.deployments.end() ? hpa.current_replicas : deployment->second.wanted;
  if (target != nullptr) {
    for (const PodSight& pod : target->pods) {
      snapshot.seen.pods.push_back(MakePod(input, pod.name));
      snapshot.facts.push_back(
          {.owner = input.name,
           .finished = snapshot.seen.pods.back().phase == hpa::PodPhase::kSucceeded});
    }
  }
  const kube::Condition* active = snapshot.hpa.FindCondition("ScalingActive");
  constexpr std::array<std::string_view, 2> kSelectorFaults = {"InvalidSelector",
                                                               "AmbiguousSelector"};
  for (const std::string_view fault : kSelectorFaults) {
    if (active != nullptr && active->reason == fault) snapshot.seen.selector_fault = fault;
  }
  return out;
}

}  // namespace activescale::insight
