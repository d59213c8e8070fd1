#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpa/autoscaler.h"
#include "insight/reach.h"
#include "insight/snapshot.h"

namespace activescale::insight {

/// How the controller counted a pod for one metric.
enum class Counted : uint8_t {
  kAsValue,     // with the value that it has
  kAsReady,     // as one of the pods that serve: against a Value only their number matters
  kAsTarget,    // without a value, while the others ask for fewer: as if exactly at the target
  kAsIdle,      // without a value or not ready, while the others ask for more: as 0
  kNotCounted,  // left out
};

struct CountedPod {
  std::string name;
  std::optional<int64_t> value_milli;
  Counted counted = Counted::kNotCounted;
  std::string why;  // "has no value", "is Pending", ...; "" for one that counts with its value
};

/// One metric as the controller sees it.
struct ExplainedMetric {
  std::string title;  // MetricTitle
  hpa::Proposal proposal;
  std::vector<CountedPod> pods;  // empty where the controller looks at no pod
  std::string how;               // from values to the proposal, as a line of arithmetic
};

/// What the controller's next sync makes of the replicas, if nothing changes until then.
struct NextSync {
  int32_t replicas = 0;
  /// False if past recommendations, which only the controller remembers, may decide otherwise.
  bool certain = true;
  std::string why;
};

struct Explanation {
  hpa::Tolerance tolerance;
  /// What follows from all that can be seen: the values, the limits, and the past changes that the
  /// HPA's events tell of. Recommendations that led to no change are not among that.
  hpa::Decision decision;
  std::vector<ExplainedMetric> metrics;
  NextSync next;
  std::vector<std::string> notes;  // what a person would want to know besides; sentences
  std::optional<Reach> reach;
};

/// Explains one sync. With `wanted` also what would have to change to reach that many replicas.
/// The controller's flags cannot be read from the API; its defaults are assumed. Pure.
[[nodiscard]] Explanation Explain(const Snapshot& snapshot, std::optional<int32_t> wanted);

/// For a person.
[[nodiscard]] std::string ExplanationText(const Snapshot& snapshot, const Explanation& explained);
/// For a program: one JSON object, members as in docs/explain.md.
[[nodiscard]] std::string ExplanationJson(const Snapshot& snapshot, const Explanation& explained);

/// An amount in the unit of the metric's target: "4", "2.5", "80 %".
[[nodiscard]] std::string Amount(const hpa::MetricSpec& spec, int64_t value);

/// "counted with its value", "as idle (0)", ...
[[nodiscard]] std::string_view CountedName(Counted counted);

}  // namespace activescale::insight
