#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "hpa/autoscaler.h"
#include "kube/hpa_object.h"
#include "kube/pod.h"

namespace activescale::insight {

/// `kind` of the document that Collect makes.
inline constexpr std::string_view kSnapshotKind = "ActivescaleHpaSnapshot";

/// What else there is to say of one of the pods.
struct PodFacts {
  std::string owner;  // "Deployment/web"; "" for a pod that nobody controls
  bool crash_loops = false;
  bool finished = false;  // Succeeded: the controller still waits for its metric
};

/// A change of the replica count that the HPA's events tell of.
struct PastRescale {
  base::WallTime at;
  int32_t replicas = 0;
  std::string reason;
};

/// What was told of a step ahead of the controller (docs/scale-ahead.md).
struct AheadEvent {
  base::WallTime at;
  std::string reason;  // "ScaledAhead", "WouldScaleAhead", "ScaleAheadUndone", ...
  std::string note;
};

/// One HPA and all that its controller looks at, at one moment. A value type.
struct Snapshot {
  base::WallTime taken_at;
  kube::HpaObject hpa;
  hpa::Observation seen;
  std::vector<PodFacts> facts;        // one for each of seen.pods
  std::vector<bool> denied;           // one a metric: it is we who may not read it
  std::vector<PastRescale> rescales;  // ascending; events live for an hour by default
  std::string ahead;                  // how the HPA asks for steps ahead; "" if it does not
  std::vector<AheadEvent> steps;      // ascending
};

/// Reads what Collect made. Errors: kInvalidArgument, what is missing or broken, to be put after
/// the name of the file.
[[nodiscard]] base::Result<Snapshot> ReadSnapshot(std::string_view text);

/// "Deployment/web"; of a ReplicaSet that a Deployment made, the Deployment, which the hash at the
/// end of the name tells. "" for a pod that nobody controls.
[[nodiscard]] std::string OwnerOf(const kube::Pod& pod);

/// "2006-01-02T15:04:05Z".
[[nodiscard]] std::string TimeText(base::WallTime time);

}  // namespace activescale::insight
