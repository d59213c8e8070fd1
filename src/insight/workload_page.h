#pragma once

#include <functional>
#include <optional>
#include <string>

#include "insight/fleet.h"
#include "insight/hpa_table.h"
#include "insight/overview.h"
#include "kube/watch_pod_index.h"

namespace activescale::insight {

/// All that the page of one workload is made of.
struct WorkloadPageInput {
  std::string ns;
  std::string name;
  const ServerFacts& facts;
  const Fleet& fleet;
  const HpaTable::Hpas& hpas;
  const Deployments& deployments;
  const AheadOf& ahead;
  /// What the API server knows of a pod; null: nobody asks it.
  std::function<std::optional<kube::PodInfo>(metric::PodKeyView)> find_pod;
  std::string problem;
};

/// Pods that a page lists at most; it says how many there are.
inline constexpr size_t kMaxListedPods = 2'000;

/// One JSON object: "ns", "name", "at", "known", "values", "spread", "counts", "replicas", "pods"
/// of
/// {"name", "values", "age", "state"}, and "hpas", each as in the overview and with "conditions"
/// and "explanation": what the controller's next sync makes of it, as far as watches and the store
/// tell. Pure.
[[nodiscard]] std::string WorkloadJson(const WorkloadPageInput& input);

}  // namespace activescale::insight
