#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "insight/doctor_gather.h"
#include "metric/metric_kind.h"

namespace activescale::insight {

/// One workload with at least one pod that pushes.
struct TopRow {
  std::string ns;
  std::string workload;  // "Deployment/web", or "Pod/name" of one that nobody controls
  size_t pods = 0;       // neither finished nor being deleted
  size_t pushing = 0;    // of these, those that have a value of any metric
  std::array<std::optional<int64_t>, metric::kMetricKindCount> milli;  // sums; absent: no values
  std::chrono::milliseconds oldest{0};  // age of the oldest value that counts
  /// Steps ahead of its HPA: "on", "observe", "off", "broken"; "" if that is not known.
  std::string ahead;
};

struct TopTable {
  std::vector<TopRow> rows;         // most inbound requests first
  size_t silent = 0;                // workloads without a pod that pushes
  std::vector<std::string> faults;  // what could not be read, a sentence each
  std::string ahead_fault;          // why `ahead` of some is not known; "" if it is
};

/// Asks for the pods of `ns` (empty: of all namespaces) and for their metrics. `replicas`: what
/// ours say of themselves, of which steps ahead are known.
[[nodiscard]] TopTable GatherTop(const ClusterReader& reader, const std::string& ns,
                                 const base::Result<std::vector<ReplicaHealth>>& replicas,
                                 base::WallTime now);

/// For a person, at most `most_rows` rows; the rest is counted.
[[nodiscard]] std::string TopText(const TopTable& table, size_t most_rows);
/// For a program: one line of JSON, members as in docs/doctor.md.
[[nodiscard]] std::string TopJson(const TopTable& table);

}  // namespace activescale::insight
