#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/pod_index.h"
#include "metric/labels.h"
#include "metric/pod_key.h"

namespace activescale::kube {

/// What an Envoy says about its pod in the first message of a stream; "" where it does not.
struct EnvoyPod {
  metric::Labels labels;
  std::string workload_name;  // of the Deployment, StatefulSet, Job, ...
  std::string ip;
};

/// The pods that the Envoys speak for: the index of standalone mode, where no API server tells.
/// A pod is known while its telemetry comes and for a grace after its last message, so that one
/// that fell silent is a pod without telemetry (404) and not a pod that does not exist; then it
/// is forgotten. Threads: any.
class EnvoyPodIndex final : public PodIndex {
 public:
  /// Keeps one pod known. Cheap to call with each message; takes no lock. Threads: one at a time.
  class Presence;

  /// `grace` > 0 is how long a pod is known after its last message; three TTLs are right.
  EnvoyPodIndex(std::chrono::nanoseconds grace, const base::Clock& clock);
  ~EnvoyPodIndex() override;

  /// A stream of this pod began; what it says replaces what an earlier one said. The presence may
  /// outlive the index.
  [[nodiscard]] std::unique_ptr<Presence> Add(const metric::PodKey& pod, EnvoyPod description);

  /// Removes the pods whose grace is over and whose presences are gone; they are not known before
  /// that either. To be called every few seconds.
  void Expire(base::SteadyTime now);

  [[nodiscard]] base::Result<std::vector<metric::PodKey>> Select(
      std::string_view ns, const metric::Selector& selector) const override;
  [[nodiscard]] base::Result<bool> Contains(metric::PodKeyView pod) const override;

  /// By WORKLOAD_NAME, for every kind of workload of the groups apps and batch: Envoys do not say
  /// of which kind it is.
  [[nodiscard]] base::Result<std::vector<WorkloadPod>> PodsOf(
      std::string_view ns, const WorkloadRef& workload) const override;

  [[nodiscard]] base::Result<std::vector<IndexedPod>> List() const override;
  [[nodiscard]] std::optional<std::string> WorkloadOf(metric::PodKeyView pod) const override;

 private:
  struct Entry;
  using Pods = std::map<std::string, std::shared_ptr<Entry>, std::less<>>;

  [[nodiscard]] bool Known(const Entry& entry, base::SteadyTime now) const;
  /// Calls `visit(name, entry)` for each known pod of `ns`, in order of name.
  template <typename Visit>
  void ForEachKnown(std::string_view ns, Visit visit) const REQUIRES(mutex_);

  const std::chrono::nanoseconds grace_;
  const base::Clock& clock_;
  mutable base::Mutex mutex_;
  std::map<std::string, Pods, std::less<>> namespaces_ GUARDED_BY(mutex_);
};

class EnvoyPodIndex::Presence {
 public:
  explicit Presence(std::shared_ptr<Entry> entry);
  ~Presence();
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

  /// A message came at `now`.
  void Touch(base::SteadyTime now);

 private:
  const std::shared_ptr<Entry> entry_;
};

}  // namespace activescale::kube
