#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "hpa/replica_calculator.h"
#include "hpa/scale_history.h"
#include "hpa/types.h"

namespace activescale::hpa {

/// What the controller sees of the target at one sync.
struct Observation {
  int32_t spec_replicas = 0;
  int32_t status_replicas = 0;
  std::vector<Pod> pods;              // those that the scale's selector matches
  std::vector<MetricAnswer> answers;  // one for each of spec.metrics
  /// "InvalidSelector" or "AmbiguousSelector" if the selector cannot be used (none, not parseable,
  /// or its pods are also another HPA's); empty if it can.
  std::string_view selector_fault;
};

/// Why the count moves, in the classes of the controller's event SuccessfulRescale.
enum class Rescale : uint8_t {
  kNone,
  kAboveMax,      // "Current number of replicas above Spec.MaxReplicas"
  kBelowMin,      // "Current number of replicas below Spec.MinReplicas"
  kMetricAbove,   // "<metric> above target"
  kMetricsBelow,  // "All metrics below target"
};

/// One sync's outcome with everything that led to it.
struct Decision {
  int32_t replicas = 0;  // what spec.replicas becomes; the present count if nothing changes
  bool rescaled = false;
  Rescale reason = Rescale::kNone;
  /// Reason of the condition ScalingActive: "ValidMetricFound", "ScalingDisabled",
  /// "FailedGetPodsMetric" and its kin, or the selector's fault. Empty when no metric was looked
  /// at and the condition stays as it was.
  std::string_view active_reason;
  bool failed = false;                   // nothing could be decided; the count stays
  int winner = -1;                       // index of the metric whose proposal won
  int32_t proposed = 0;                  // the largest proposal, before stabilization and limits
  std::vector<Proposal> proposals;       // one a metric; empty when no metric was looked at
  std::optional<Normalized> normalized;  // absent when stabilization did not run
};

/// The controller's sync of one HPA, with its memory. Deterministic; threads: one at a time.
class Autoscaler {
 public:
  explicit Autoscaler(ControllerOptions options = {}) : options_(options) {}
  /// One that remembers already. `scaled_to_zero` is the HPA's condition ScaledToZero.
  Autoscaler(ControllerOptions options, ScaleHistory history, bool scaled_to_zero)
      : options_(options), history_(std::move(history)), scaled_to_zero_(scaled_to_zero) {}

  /// Decides as the controller would at `now`, and remembers as if the change was applied.
  [[nodiscard]] Decision Reconcile(const HpaSpec& spec, const Observation& seen,
                                   base::WallTime now);

  [[nodiscard]] const ScaleHistory& history() const { return history_; }

 private:
  enum class Route : uint8_t { kDisabled, kFixed, kMetrics };
  Route Start(const HpaSpec& spec, const Observation& seen, Decision* out) const;
  void FromMetrics(const HpaSpec& spec, const Observation& seen, base::WallTime now, Decision* out);

  const ControllerOptions options_;
  ScaleHistory history_;
  bool scaled_to_zero_ = false;  // the status condition ScaledToZero
};

/// The tolerance of an HPA: its behavior's, else the controller's.
[[nodiscard]] Tolerance ToleranceOf(const HpaSpec& spec, const ControllerOptions& options);

/// The condition reason of a metric that could not be used, e.g. "FailedGetPodsMetric".
[[nodiscard]] std::string_view FailureReason(MetricType type);
/// Names as Kubernetes writes them, e.g. "ScaleUpLimit", "ReadyForNewScale".
[[nodiscard]] std::string_view LimitName(Limit limit);
[[nodiscard]] std::string_view StabilizationName(Stabilization stabilization);

}  // namespace activescale::hpa
