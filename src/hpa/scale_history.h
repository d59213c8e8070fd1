#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "hpa/types.h"

namespace activescale::hpa {

/// Which limit of the HPA cut the desired count, as the condition ScalingLimited names it.
enum class Limit : uint8_t {
  kDesiredWithinRange,
  kTooManyReplicas,
  kTooFewReplicas,
  kScaleUpLimit,
  kScaleDownLimit,
};

/// What stabilization did, as the condition AbleToScale names it.
enum class Stabilization : uint8_t { kReadyForNewScale, kScaleUpStabilized, kScaleDownStabilized };

/// A desired count after stabilization and limits.
struct Normalized {
  int32_t replicas = 0;
  int32_t stabilized = 0;  // after stabilization, before limits
  Stabilization stabilization = Stabilization::kReadyForNewScale;
  Limit limit = Limit::kDesiredWithinRange;
};

/// What the controller remembers of one HPA between syncs: past recommendations and past scale
/// events. It is in the controller's memory only; a restarted one starts empty.
/// Threads: one at a time.
class ScaleHistory {
 public:
  /// Called at each sync before anything else: the first sync remembers the present count.
  void Begin(int32_t current_replicas, base::WallTime now);

  /// Applies stabilization, then limits, and remembers `desired`.
  [[nodiscard]] Normalized Normalize(const HpaSpec& spec, const ControllerOptions& options,
                                     int32_t current, int32_t desired, base::WallTime now);

  /// Remembers a change of the replica count; without behavior the controller keeps none.
  void RecordScale(const HpaSpec& spec, int32_t from, int32_t to, base::WallTime now);

  /// The most replicas that scaleUp's policies allow now; `current` if disabled or used up.
  [[nodiscard]] int32_t ScaleUpLimit(const ScalingRules& rules, int32_t current,
                                     base::WallTime now) const;
  /// The fewest replicas that scaleDown's policies allow now.
  [[nodiscard]] int32_t ScaleDownLimit(const ScalingRules& rules, int32_t current,
                                       base::WallTime now) const;

 private:
  struct Recommendation {
    int32_t replicas;
    base::WallTime at;
  };
  struct Change {
    int32_t replicas;  // >= 0
    base::WallTime at;
    bool outdated = false;
  };

  [[nodiscard]] int32_t PeriodStart(const Policy& policy, int32_t current,
                                    base::WallTime now) const;
  void Remember(int32_t desired, base::WallTime now, int old_index);
  int32_t StabilizeDown(int32_t desired, std::chrono::seconds window, base::WallTime now);
  int32_t Stabilize(const Behavior& behavior, const ControllerOptions& options, int32_t current,
                    int32_t desired, base::WallTime now);
  [[nodiscard]] Normalized LimitByBehavior(const HpaSpec& spec, int32_t current, int32_t stabilized,
                                           base::WallTime now) const;

  std::vector<Recommendation> recommendations_;
  std::vector<Change> ups_;
  std::vector<Change> downs_;
};

/// The controller's cap without behavior: the larger of twice the present count and 4.
[[nodiscard]] int32_t DefaultScaleUpLimit(int32_t current);

}  // namespace activescale::hpa
