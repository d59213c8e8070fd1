#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace activescale::scaleahead {

/// Why an HPA is left to its controller at this moment.
enum class Hold : uint8_t {
  kNone,  // a step is due
  // The HPA or its target is none to act for.
  kNotAsked,        // no annotation, or "false"
  kBadAnnotation,   // another value
  kDeleting,        // it has a deletionTimestamp
  kInactive,        // the controller says ScalingActive=False, or nothing yet
  kKedaPaused,      // by an annotation of KEDA
  kNoMetricOfOurs,  // we answer none of its metrics
  kNoTarget,        // its target is not there, or of a kind without support
  kSharedTarget,    // another HPA has the same target
  kTargetPaused,    // a paused Deployment
  kZero,            // scaled to 0 replicas
  kOutsideRange,    // below minReplicas or above maxReplicas: the controller's to mend
  // What is known does not allow a decision.
  kUnknown,     // a watch, the pods or the store are not known now
  kPartial,     // a part of the store does not answer
  kNoDecision,  // no metric of ours has a value
  kWarmingUp,   // changes were not watched for as long as a policy looks back
  kJoining,     // pods began to serve: what they took over may be counted twice
  kNotAbove,    // no more replicas than there are
  // The HPA's own limits, and ours.
  kStabilized,    // by scaleUp's stabilization window
  kUpLimit,       // by scaleUp's policies or maxReplicas
  kRecentChange,  // one step a second
  kRecentDown,    // somebody scaled down: the controller's turn
  kGathering,     // the other pods flush within the second
  kBroken,        // the controller undid two steps
  kBackOff,       // a step failed
};
inline constexpr size_t kHoldCount = static_cast<size_t>(Hold::kBackOff) + 1;

/// Its name in metrics, e.g. "not_above".
[[nodiscard]] constexpr std::string_view HoldName(Hold hold) {
  constexpr std::array<std::string_view, kHoldCount> kNames = {
      "none",          "not_asked",     "bad_annotation", "deleting",      "inactive",
      "keda_paused",   "not_ours",      "no_target",      "shared_target", "target_paused",
      "zero",          "outside_range", "unknown",        "partial",       "no_decision",
      "warming_up",    "joining",       "not_above",      "stabilized",    "up_limit",
      "recent_change", "recent_down",   "gathering",      "broken",        "back_off"};
  return kNames[static_cast<size_t>(hold)];
}

}  // namespace activescale::scaleahead
