#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/peer_check.h"
#include "kube/pod_index.h"
#include "kube/pod_store.h"
#include "kube/watch_group.h"
#include "kube/workload_store.h"
#include "telemetry/health.h"

namespace activescale::kube {

/// What else is known of a pod.
struct PodInfo {
  std::string name;
  PodPhase phase = PodPhase::kUnknown;
  bool ready = false;
  bool terminating = false;
  base::SteadyTime ready_since;  // if ready
  base::WallTime created;
  std::string ip;  // the first one; may be empty
};

/// Pods as the API server has them, by watches. Finished pods are never in it; terminating ones are
/// left out of answers, but for an option. ReplicaSets, Jobs and Services are watched from the
/// first question on that needs them. Threads: any. Destroy it only when the HTTP client's Run has
/// returned, and after the registry's last use.
class WatchPodIndex final : public PodIndex {
 public:
  struct Options {
    std::vector<std::string> namespaces;  // empty: all
    bool include_terminating = false;
    /// A pod that is ready for less may lack telemetry: the metric TTL.
    std::chrono::nanoseconds starting_grace{std::chrono::seconds(20)};
  };

  WatchPodIndex(const WatchGroup::Context& context, Options options);

  void Start() { pods_group_.Start(); }

  [[nodiscard]] base::Result<std::vector<metric::PodKey>> Select(
      std::string_view ns, const metric::Selector& selector) const override;
  /// True of a terminating pod too: it still serves.
  [[nodiscard]] base::Result<bool> Contains(metric::PodKeyView pod) const override;
  void Prepare(std::string_view ns, const WorkloadRef& workload,
               std::move_only_function<void()> then) const override;
  [[nodiscard]] base::Result<std::vector<WorkloadPod>> PodsOf(
      std::string_view ns, const WorkloadRef& workload) const override;
  [[nodiscard]] base::Result<std::vector<IndexedPod>> List() const override;
  [[nodiscard]] std::optional<std::string> WorkloadOf(metric::PodKeyView pod) const override;

  /// Pods that match, terminating ones too, in order of name. Errors: as Select.
  [[nodiscard]] base::Result<std::vector<PodInfo>> Describe(std::string_view ns,
                                                            const metric::Selector& selector) const;

  /// One pod, terminating or not; nothing if there is none or it is not known.
  [[nodiscard]] std::optional<PodInfo> Find(metric::PodKeyView pod) const;

  /// Compares a connection's address, as IpAddress::ParsePeer reads it, with the pod that it claims
  /// to be.
  [[nodiscard]] PeerVerdict CheckPeer(metric::PodKeyView pod, std::string_view peer) const;

  /// Fails until the first list is complete. Silence later does not fail it: a fault that all
  /// replicas share must not take all of them out of the Service; reads are refused meanwhile.
  [[nodiscard]] telemetry::CheckResult Health() const;

 private:
  /// A kind of object that workloads own and that owns pods, watched when one is asked for.
  struct Between {
    Between(WatchPodIndex& index, const WatchGroup::Context& context,
            const WatchGroup::Resource& resource, std::string_view full_name);

    const std::string_view resource;  // with its group
    OwnerStore owners;                // under the index's mutex
    FunctionSink sink;
    mutable WatchGroup group;
  };

  [[nodiscard]] bool Counts(const PodStore::Record& record) const;
  [[nodiscard]] bool Starting(const PodStore::Record& record) const;
  [[nodiscard]] std::vector<WorkloadPod> Answer(std::string_view ns,
                                                const PodStore::Records& records) const;
  /// What stands between workloads of this resource and their pods; null: nothing.
  [[nodiscard]] const Between* BetweenOf(std::string_view resource) const;
  [[nodiscard]] base::Result<std::vector<WorkloadPod>> PodsOfService(std::string_view ns,
                                                                     std::string_view name) const;
  [[nodiscard]] base::Result<std::vector<WorkloadPod>> PodsOfOwner(
      std::string_view ns, const WorkloadRef& workload) const;

  const Options options_;
  const base::Clock& clock_;

  mutable base::Mutex mutex_;
  PodStore pods_ GUARDED_BY(mutex_);
  ServiceStore services_ GUARDED_BY(mutex_);

  FunctionSink pod_sink_;
  FunctionSink service_sink_;
  WatchGroup pods_group_;
  mutable WatchGroup services_group_;  // started by the first question
  Between replica_sets_;
  Between jobs_;
};

}  // namespace activescale::kube
