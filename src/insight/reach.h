#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpa/autoscaler.h"
#include "insight/snapshot.h"

namespace activescale::insight {

/// Bounds, both included.
struct Range {
  int64_t least = 0;
  int64_t most = 0;
};

/// What one metric needs to propose the wanted replicas; absent if nothing makes it propose
/// exactly that. Units as in hpa::MetricSpec::target.
struct MetricReach {
  std::optional<Range> value;   // the mean of the counted pods, or the total, at the target it has
  std::optional<Range> target;  // the target, at the values it has
};

struct Reach {
  int32_t wanted = 0;
  std::vector<MetricReach> metrics;
  int32_t limit = 0;  // how far towards it the HPA's limits let one sync go
};

/// What would have to change so that the HPA asks for `wanted` replicas. `history`: what is known
/// of past changes. Found by trying values and targets in the controller's arithmetic, which grows
/// with the one and falls with the other.
[[nodiscard]] Reach FindReach(const Snapshot& snapshot, const hpa::ScaleHistory& history,
                              const hpa::ControllerOptions& options, int32_t wanted);

}  // namespace activescale::insight
