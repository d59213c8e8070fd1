#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "metric/metric_kind.h"
#include "metric/pod_key.h"
#include "store/sample_store.h"
#include "telemetry/registry.h"

namespace activescale::scaleahead {

/// Lets the values of a workload stand still for a moment after a step: while its new pods take
/// over load, the old ones' values and theirs are of different moments, and a sum over them may be
/// far too high or too low. Readers then get what was known when the step was seen, with its true
/// age, and no value of pods that came later; so the controller computes what the step was computed
/// from. A store in front of the one that is read; it writes nothing. Costs one load of an atomic a
/// read while nothing stands. Threads: any.
class StandingStore final : public store::SampleStore {
 public:
  /// Until the controller has synced once after the step: then it remembers the count itself.
  static constexpr std::chrono::seconds kTime{16};

  /// The workload of a pod; nothing if it is not known.
  using WorkloadOf = std::function<std::optional<std::string>(metric::PodKeyView)>;

  /// All must outlive it.
  StandingStore(store::SampleStore& store, WorkloadOf workload_of, const base::Clock& clock,
                telemetry::Registry& registry);

  /// A step was taken for the workload: what is known now of `pods`, its pods, stands for kTime, in
  /// place of what may stand since an earlier step. Each of these values was within the store's TTL
  /// at that moment; none ends before the others, which would mix moments again.
  void Stand(const std::string& ns, const std::string& workload,
             const std::vector<metric::PodKey>& pods) EXCLUDES(mutex_);
  /// Its values are those of the store again.
  void Release(const std::string& ns, const std::string& workload) EXCLUDES(mutex_);

  /// As the store. Nobody writes through this.
  [[nodiscard]] std::unique_ptr<store::PodStream> Open(metric::PodKey pod) override {
    return store_.Open(std::move(pod));
  }
  void Read(std::vector<metric::PodKey> pods, metric::MetricKind kind,
            store::ReadCallback done) override;

 private:
  /// What the store knew after a step.
  struct Taken {
    base::SteadyTime until;
    std::map<std::string, store::ReadAllResult::Readings, std::less<>> pods;  // by name
  };
  struct Standing {
    std::shared_ptr<const Taken> taken;   // what stands; null: nothing yet
    std::shared_ptr<const Taken> coming;  // the newest that is under way
  };
  using Key = std::pair<std::string, std::string>;  // namespace, workload

  void Take(const Key& key, const std::vector<metric::PodKey>& pods,
            const std::shared_ptr<Taken>& coming, const base::Result<store::ReadAllResult>& result)
      EXCLUDES(mutex_);
  void DropExpired(base::SteadyTime now) REQUIRES(mutex_);
  [[nodiscard]] std::optional<store::PodReading> Find(const Key& key, const std::string& pod,
                                                      metric::MetricKind kind) const
      REQUIRES(mutex_);
  void Replace(const std::vector<metric::PodKey>& pods, metric::MetricKind kind,
               store::ReadResult& result) EXCLUDES(mutex_);

  store::SampleStore& store_;
  const WorkloadOf workload_of_;
  const base::Clock& clock_;
  telemetry::Counter& replaced_;
  std::atomic<bool> any_{false};
  base::Mutex mutex_;
  std::map<Key, Standing> standing_ GUARDED_BY(mutex_);
};

}  // namespace activescale::scaleahead
