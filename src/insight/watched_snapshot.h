#pragma once

#include <optional>
#include <string>
#include <vector>

#include "insight/hpa_table.h"
#include "insight/snapshot.h"
#include "insight/workload_page.h"

namespace activescale::insight {

/// What `explain` would have read, as far as it can be known without a question to the API server.
struct WatchedSnapshot {
  Snapshot snapshot;                // of the metrics that can be seen, at least one
  std::vector<std::string> unseen;  // titles of the others
};

/// Nothing if no metric of the HPA can be seen here: only those of pods' in-flight work are, the
/// store has them. `target` may be null: no pods. Pure.
[[nodiscard]] std::optional<WatchedSnapshot> SnapshotFromWatches(const WorkloadPageInput& input,
                                                                 const WorkloadSight* target,
                                                                 const HpaSight& hpa);

}  // namespace activescale::insight
