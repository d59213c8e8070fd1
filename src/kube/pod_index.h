#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "metric/labels.h"
#include "metric/pod_key.h"
#include "metric/selector.h"

namespace activescale::kube {

/// An object whose pods are meant, by resource as the API's path has it: {"deployments.apps",
/// "web"}, {"services", "web"}. The core group has no suffix.
struct WorkloadRef {
  std::string resource;
  std::string name;
};

/// One pod of a workload.
struct WorkloadPod {
  metric::PodKey key;
  /// Not Ready yet, or Ready for less than the metric TTL: without telemetry it may be taken as
  /// idle in a sum over the workload. A pod that is expected to push and does not makes such a sum
  /// unknown. False where readiness is not known (pods from Envoy's node metadata).
  bool starting = false;
};

/// A pod and the name of what it belongs to.
struct IndexedPod {
  metric::PodKey key;
  /// Of the Deployment, StatefulSet, DaemonSet, Job, ...; the pod's own name if nothing controls
  /// it;
  /// "" where that is not known.
  std::string workload;
};

/// Which pods a selector or a workload means. It is the authority on what exists; the store knows
/// only what was pushed. Threads: any; answers come from memory.
class PodIndex {
 public:
  virtual ~PodIndex() = default;

  /// Pods of `ns` that match, in order of name. An empty answer means that there are none.
  /// Errors: kUnavailable while the first list is not complete.
  [[nodiscard]] virtual base::Result<std::vector<metric::PodKey>> Select(
      std::string_view ns, const metric::Selector& selector) const = 0;

  /// Whether the pod exists. Errors: as Select.
  [[nodiscard]] virtual base::Result<bool> Contains(metric::PodKeyView pod) const = 0;

  /// Calls `then` as soon as PodsOf can tell of the workload, or within two seconds that it cannot:
  /// what leads to some workloads is read from the first question on. On this thread where it can
  /// tell now, else on one of the index's; not at all if the index stops meanwhile.
  virtual void Prepare(std::string_view ns, const WorkloadRef& workload,
                       std::move_only_function<void()> then) const {
    (void)ns, (void)workload;
    then();
  }

  /// Pods of a workload, in order of name. Errors: kNotFound if the workload is not known,
  /// kUnavailable as Select (also while the objects that lead to it are first read).
  [[nodiscard]] virtual base::Result<std::vector<WorkloadPod>> PodsOf(
      std::string_view ns, const WorkloadRef& workload) const = 0;

  /// All pods, in order of namespace and name. Errors: as Select.
  [[nodiscard]] virtual base::Result<std::vector<IndexedPod>> List() const = 0;

  /// The workload of one pod, as List has it; nothing if there is no such pod, or it is not known
  /// yet.
  [[nodiscard]] virtual std::optional<std::string> WorkloadOf(metric::PodKeyView pod) const = 0;
};

}  // namespace activescale::kube
