#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "kube/hpa_object.h"

namespace activescale::scaleahead {

/// A count to be written to a target's scale, if the target is still as it was seen.
struct Step {
  std::string ns;
  std::string resource;  // "deployments"
  std::string name;
  std::string resource_version;
  int32_t replicas = 0;
};

enum class StepOutcome : uint8_t {
  kApplied,
  kConflict,   // the target changed meanwhile
  kForbidden,  // RBAC
  kGone,       // no such target
  kRefused,    // by what checks writes: a quota, a webhook, a validation
  kAway,       // 429, 5xx or no answer: not the time for more calls
};
inline constexpr size_t kStepOutcomeCount = static_cast<size_t>(StepOutcome::kAway) + 1;

struct StepResult {
  StepOutcome outcome = StepOutcome::kApplied;
  std::string message;                              // why, unless applied
  std::optional<std::chrono::seconds> retry_after;  // what the API server asked for
};

/// Something to be told as an event of an HPA.
struct Notice {
  std::string reason;  // "ScaledAhead"
  std::string note;
  bool warning = false;
};

/// What changes the cluster. Neither call waits.
class Hands {
 public:
  virtual ~Hands() = default;
  /// `done` runs exactly once, on any thread.
  virtual void Scale(const Step& step, std::move_only_function<void(StepResult)> done) = 0;
  /// An event that cannot be written is counted, and lost.
  virtual void Tell(const kube::HpaObject& hpa, const Notice& notice) = 0;
};

}  // namespace activescale::scaleahead
