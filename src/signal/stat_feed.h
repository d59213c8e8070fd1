#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/pod_index.h"
#include "metric/labels.h"
#include "metric/pod_key.h"
#include "metric/stat_chooser.h"
#include "series/series_store.h"
#include "telemetry/registry.h"

namespace activescale::signal {

/// Makes series of the stats that a StatChooser chose, with the labels namespace, pod, workload and
/// cluster besides the stat's own, for what some selector asks for. A counter that a flush does not
/// mention has not changed, since Envoy sends only those that did: it is repeated. A pod that is
/// silent for the TTL ends. What pods push to other replicas comes from them, see SetListener.
/// Threads: any; Expire one at a time.
class StatFeed {
 public:
  struct Options {
    std::string cluster;  // value of the label `cluster`; "" for none
    std::chrono::nanoseconds ttl = std::chrono::seconds(20);
    /// Stats known at once; one more is dropped and counted. Bounds memory: about 1 KiB each.
    size_t max_stats = 100'000;
  };

  StatFeed(Options options, metric::StatChooser chooser, const kube::PodIndex& pods,
           series::SeriesStore& series, const base::Clock& clock, telemetry::Registry& registry);
  ~StatFeed();

  [[nodiscard]] const metric::StatChooser& chooser() const { return chooser_; }
  /// Whether anything is recorded at all. Takes no lock.
  [[nodiscard]] bool Active() const { return series_.selectors_version() != 0; }

  /// One message of an Envoy.
  struct Message {
    const metric::PodKey& pod;
    std::span<const metric::ChosenStat> stats;
    int64_t time_ms;    // when it was received, since 1970
    bool begins_flush;  // the first of its flush
  };
  /// `listener` is told what this process received and recorded, on the thread that brings it and
  /// under no lock; it must not block. Call before anything is taken.
  void SetListener(std::function<void(const Message&)> listener) {
    listener_ = std::move(listener);
  }

  /// Stats of one message of a pod that pushes to this process, received at `received`.
  void Take(const metric::PodKey& pod, std::span<const metric::ChosenStat> stats,
            base::SteadyTime received, bool begins_flush);
  /// What a pod pushed to another replica.
  void TakeFromReplica(const Message& message) { Record(message); }

  /// Ends the series of pods that fell silent; forgets everything while nothing is recorded. To be
  /// called about once a second.
  void Expire();

 private:
  struct Stat {
    metric::Labels labels;
    bool counter = false;
    double value = 0;
    int64_t newest_ms = 0;
    bool wanted = false;
    uint64_t wanted_at = 0;  // the version of the selectors that `wanted` was found with
  };
  /// A pod's stats by name and tags as they came.
  struct Pod {
    Pod(metric::PodKey pod, std::string of) : key(std::move(pod)), workload(std::move(of)) {}

    const metric::PodKey key;
    const std::string workload;

    base::Mutex mutex;
    std::unordered_map<std::string, Stat> stats GUARDED_BY(mutex);
    base::SteadyTime heard GUARDED_BY(mutex) = base::SteadyTime::min();
    int64_t flush_ms GUARDED_BY(mutex) = 0;  // when the flush under way began
  };
  using Pods = std::map<metric::PodKey, std::shared_ptr<Pod>>;

  /// What of the message is recorded; nothing if nothing of the pod is.
  std::optional<std::vector<metric::ChosenStat>> Record(const Message& message) EXCLUDES(mutex_);
  [[nodiscard]] std::shared_ptr<Pod> FindOrAdd(const metric::PodKey& key) EXCLUDES(mutex_);
  [[nodiscard]] Stat* FindOrAdd(Pod& pod, const metric::ChosenStat& stat) REQUIRES(pod.mutex);
  void Append(Stat& stat, int64_t time_ms);
  /// Whether there are any that are recorded.
  bool RepeatCounters(Pod& pod) REQUIRES(pod.mutex);
  void End(Pod& pod) REQUIRES(pod.mutex);

  const Options options_;
  const metric::StatChooser chooser_;
  const kube::PodIndex& index_;
  series::SeriesStore& series_;
  const base::Clock& clock_;
  telemetry::Gauge& stats_;
  telemetry::Counter& full_;
  std::function<void(const Message&)> listener_;

  base::Mutex mutex_;  // taken before a pod's, never after
  Pods pods_ GUARDED_BY(mutex_);
  std::atomic<size_t> stat_count_{0};
};

}  // namespace activescale::signal
