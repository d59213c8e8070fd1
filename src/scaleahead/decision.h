#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "hpa/autoscaler.h"
#include "kube/hpa_object.h"
#include "scaleahead/hold.h"
#include "scaleahead/memory.h"

namespace activescale::scaleahead {

/// What is to be done for an HPA.
enum class Mode : uint8_t { kOff, kObserve, kOn };

/// What HPAs ask for it by: "true", "observe" or "false".
inline constexpr std::string_view kAnnotation = "activescale.io/scale-ahead";

/// What the HPA scales, as its watch last showed it.
struct Target {
  std::string ns;
  std::string kind;      // "Deployment"
  std::string resource;  // "deployments"
  std::string name;
  std::string resource_version;
  std::string selector;  // of its pods, as a query has it
  int32_t spec_replicas = 0;
  int32_t status_replicas = 0;
  bool paused = false;
  bool stepped = false;  // who wrote spec_replicas last took a step ahead: we, or another replica
};

/// What stands behind one metric's answer.
struct MetricFacts {
  bool ours = true;      // false: somebody else answers it; the answer is an error
  bool partial = false;  // a part of the store did not answer
  /// When each pod's value was received, where the metric is of pods.
  std::vector<PodTime> times;
};

/// What is seen of one HPA at one moment. It refers to what the caller keeps.
struct View {
  const hpa::HpaSpec& spec;
  const hpa::Observation& seen;
  const std::vector<MetricFacts>& facts;  // one for each of the HPA's metrics
  /// A pod became ready so lately that the others may not have pushed since.
  bool settling = false;
};

struct AheadDecision {
  Hold hold = Hold::kNone;
  int32_t from = 0;
  int32_t to = 0;             // > from, if there is no hold
  size_t metric = 0;          // index of the one that asks for it
  int64_t value_milli = 0;    // of that metric, as the controller shows it
  base::SteadyTime pushed{};  // when the value came that the rise began with
  /// When to look again without a push; nothing: with the next push.
  std::optional<base::SteadyTime> look_again;
};

/// What is to be done for the HPA in a process of that mode, from what it says itself: kNone means
/// that its metrics decide. `mode` is kOff unless the hold is kNone.
struct Gate {
  Mode mode = Mode::kOff;
  Hold hold = Hold::kNone;
};
[[nodiscard]] Gate CheckHpa(const kube::HpaObject& hpa, Mode process);
/// The same of its target.
[[nodiscard]] Hold CheckTarget(const kube::HpaObject& hpa, const Target& target);

/// The controller's decision now, if that is a step up that the HPA's own limits allow. Remembers
/// in `memory` what was seen; the caller says with memory.OnStep that a step was taken.
///
/// Never down, never above maxReplicas, never more than scaleUp allows, with periods that count
/// everybody's changes. Pure but for `memory`: the same arguments give the same decision.
[[nodiscard]] AheadDecision Decide(const View& view, Memory& memory, base::SteadyTime now);

}  // namespace activescale::scaleahead
