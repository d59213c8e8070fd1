#include "hpa/autoscaler.h"

#include <algorithm>
#include <array>
#include <string>

namespace activescale::hpa {
namespace {

bool HasObjectOrExternal(const HpaSpec& spec) {
  return std::any_of(spec.metrics.begin(), spec.metrics.end(), [](const MetricSpec& metric) {
    return metric.type == MetricType::kObject || metric.type == MetricType::kExternal;
  });
}

/// Merges the proposals: the largest wins; false if the invalid ones forbid a decision.
bool MergeProposals(const HpaSpec& spec, const Observation& seen, Decision* out) {
  size_t invalid = 0;
  for (size_t i = 0; i < out->proposals.size(); ++i) {
    const Proposal& proposal = out->proposals[i];
    if (proposal.error) {
      if (invalid++ == 0) out->active_reason = FailureReason(spec.metrics[i].type);
    } else if (out->proposed == 0 || proposal.replicas > out->proposed) {
      out->proposed = proposal.replicas;
      out->winner = static_cast<int>(i);
    }
  }
  const bool blocked =
      invalid >= spec.metrics.size() || (invalid > 0 && out->proposed < seen.spec_replicas);
  if (!blocked) out->active_reason = "ValidMetricFound";
  return !blocked;
}

}  // namespace

Tolerance ToleranceOf(const HpaSpec& spec, const ControllerOptions& options) {
  Tolerance tolerance{options.tolerance, options.tolerance};
  if (!spec.behavior || !options.configurable_tolerance) return tolerance;
  tolerance.up = spec.behavior->up.tolerance.value_or(tolerance.up);
  tolerance.down = spec.behavior->down.tolerance.value_or(tolerance.down);
  return tolerance;
}

std::string_view FailureReason(MetricType type) {
  constexpr std::array<std::string_view, 4> kReasons = {
      "FailedGetPodsMetric", "FailedGetObjectMetric", "FailedGetExternalMetric",
      "FailedGetResourceMetric"};
  return kReasons[static_cast<size_t>(type)];
}

std::string_view LimitName(Limit limit) {
  constexpr std::array<std::string_view, 5> kNames = {
      "DesiredWithinRange", "TooManyReplicas", "TooFewReplicas", "ScaleUpLimit", "ScaleDownLimit"};
  return kNames[static_cast<size_t>(limit)];
}

std::string_view StabilizationName(Stabilization stabilization) {
  constexpr std::array<std::string_view, 3> kNames = {"ReadyForNewScale", "ScaleUpStabilized",
                                                      "ScaleDownStabilized"};
  return kNames[static_cast<size_t>(stabilization)];
}

Autoscaler::Route Autoscaler::Start(const HpaSpec& spec, const Observation& seen,
                                    Decision* out) const {
  const int32_t current = seen.spec_replicas;
  if (current == 0) {
    const bool from_zero = scaled_to_zero_ && (spec.min_replicas != 0 || HasObjectOrExternal(spec));
    if (from_zero) return Route::kMetrics;
    out->active_reason = "ScalingDisabled";
    return Route::kDisabled;
  }
  if (current > spec.max_replicas) {
    out->reason = Rescale::kAboveMax;
    out->replicas = spec.max_replicas;
    return Route::kFixed;
  }
  if (current < spec.min_replicas) {
    out->reason = Rescale::kBelowMin;
    out->replicas = spec.min_replicas;
    return Route::kFixed;
  }
  return Route::kMetrics;
}

void Autoscaler::FromMetrics(const HpaSpec& spec, const Observation& seen, base::WallTime now,
                             Decision* out) {
  if (!seen.selector_fault.empty()) {
    out->active_reason = seen.selector_fault;
    out->failed = true;
    return;
  }
  const Tolerance tolerance = ToleranceOf(spec, options_);
  for (size_t i = 0; i < spec.metrics.size(); ++i) {
    out->proposals.push_back(ProposeReplicas({.spec = spec.metrics[i],
                                              .answer = seen.answers[i],
                                              .pods = seen.pods,
                                              .spec_replicas = seen.spec_replicas,
                                              .status_replicas = seen.status_replicas,
                                              .tolerance = tolerance,
                                              .now = now,
                                              .options = options_}));
  }
  if (!MergeProposals(spec, seen, out)) {
    out->failed = true;
    return;
  }
  const int32_t current = seen.spec_replicas;
  const int32_t desired = std::max(out->proposed, 0);
  if (desired > current) out->reason = Rescale::kMetricAbove;
  if (desired < current) out->reason = Rescale::kMetricsBelow;
  out->normalized = history_.Normalize(spec, options_, current, desired, now);
  out->replicas = out->normalized->replicas;
  if (current == 0 && scaled_to_zero_ && out->replicas < spec.min_replicas) {
    out->replicas = spec.min_replicas;
    if (out->reason == Rescale::kNone) out->reason = Rescale::kBelowMin;
  }
}

Decision Autoscaler::Reconcile(const HpaSpec& spec, const Observation& seen, base::WallTime now) {
  const int32_t current = seen.spec_replicas;
  Decision out;
  out.replicas = current;
  history_.Begin(current, now);
  if (Start(spec, seen, &out) == Route::kMetrics) FromMetrics(spec, seen, now, &out);
  out.rescaled = !out.failed && out.replicas != current;
  if (!out.rescaled) {
    out.replicas = current;
    out.reason = Rescale::kNone;
    return out;
  }
  history_.RecordScale(spec, current, out.replicas, now);
  scaled_to_zero_ = options_.scale_to_zero && current > 0 && out.replicas == 0 &&
                    spec.min_replicas == 0 && HasObjectOrExternal(spec);
  return out;
}

}  // namespace activescale::hpa
