#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "hpa/types.h"

namespace activescale::hpa {

/// How the controller sorted the pods of the target for one metric. Against a Value it looks only
/// for those that run and are Ready (`counted`, the rest `ignored`), against the AverageValue of an
/// Object or External metric at none.
struct PodGroups {
  std::vector<std::string> counted;  // has a sample and counts as ready
  std::vector<std::string> unready;  // pending (or CPU still settling): its sample is not used
  std::vector<std::string> missing;  // should have a sample and has none
  std::vector<std::string> ignored;  // deleting or failed
};

/// One metric's proposal and how it came about. With `error` the metric is invalid and the other
/// numbers mean nothing; `pods` is there if the controller came as far as sorting them.
struct Proposal {
  std::optional<std::string> error;
  int32_t replicas = 0;
  int64_t usage_milli = 0;    // what status.currentMetrics shows (a mean for AverageValue)
  double ratio = 0;           // usage over target, before missing and unready pods joined
  double adjusted_ratio = 0;  // after they joined; equal to `ratio` if none did
  bool within_tolerance = false;
  PodGroups pods;
};

/// What a proposal is computed from. `pods` are those that the scale's selector matches.
struct ReplicaInput {
  const MetricSpec& spec;
  const MetricAnswer& answer;
  const std::vector<Pod>& pods;
  int32_t spec_replicas = 0;
  int32_t status_replicas = 0;
  Tolerance tolerance;
  base::WallTime now{};
  const ControllerOptions& options;
};

/// The replicas that one metric asks for. Pure; threads: any.
[[nodiscard]] Proposal ProposeReplicas(const ReplicaInput& input);

/// Go's conversion of a float64 to int32 on amd64: truncation, and the smallest int32 for NaN and
/// what does not fit. Source: Go's CVTTSD2SL on amd64.
[[nodiscard]] int32_t GoInt32(double value);

}  // namespace activescale::hpa
