#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/pod_index.h"
#include "metric/metric_kind.h"
#include "metric/quantity.h"
#include "store/sample_store.h"

namespace activescale::insight {

template <typename T>
using PerMetric = std::array<T, metric::kMetricKindCount>;

/// What one pod's Envoy said last.
struct PodSight {
  std::string name;
  PerMetric<std::optional<metric::Quantity>> values;  // absent: missing, which is not 0
  /// Since anything came of it; nothing if the pod is missing.
  std::optional<std::chrono::milliseconds> age;
};

/// One metric over the pods of a workload that have a value.
struct Load {
  metric::Quantity total;
  metric::Quantity least;
  metric::Quantity most;
};

struct WorkloadSight {
  std::string ns;
  std::string name;
  std::vector<PodSight> pods;            // in the order of the index, which is that of their names
  PerMetric<std::optional<Load>> loads;  // absent: no pod has a value
  size_t missing = 0;                    // pods that are not heard
  size_t stale = 0;                      // pods that are about to be missing: see MakeFleet

  [[nodiscard]] bool heard() const { return missing < pods.size(); }
};

/// Every workload with its pods' newest values, at one moment. A value type.
struct Fleet {
  base::WallTime at;
  std::vector<WorkloadSight> workloads;  // in order of namespace and name

  /// Null if there is none of that name.
  [[nodiscard]] const WorkloadSight* Find(std::string_view ns, std::string_view name) const;
};

/// Puts pods and what the store said of them together; `readings` are in the order of `pods`. A pod
/// without a known workload is one of its own. A pod is stale when nothing came of it for more than
/// half of the TTL. Pure.
[[nodiscard]] Fleet MakeFleet(std::vector<kube::IndexedPod> pods,
                              const std::vector<store::ReadAllResult::Readings>& readings,
                              std::chrono::nanoseconds ttl, const base::Clock& clock);

}  // namespace activescale::insight
