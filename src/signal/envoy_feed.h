#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/warning_gate.h"
#include "kube/pod_index.h"
#include "metric/labels.h"
#include "metric/metric_kind.h"
#include "metric/pod_key.h"
#include "series/series_store.h"
#include "signal/telemetry.h"
#include "store/sample_store.h"
#include "telemetry/registry.h"

namespace activescale::signal {

/// Makes series of Envoy's metrics in the sample store: inbound_active_requests,
/// outbound_active_requests and active_connections with the labels namespace, pod, workload and
/// cluster, for what some selector asks for. A sample's time is when its flush was received.
///
/// It is a store itself, in front of the real one: what is pushed to this process goes into the
/// series at once. All else comes with Poll from the real store: flushes that other replicas
/// received, heartbeats that mean zero, silence that means missing. So every replica that shares
/// the store has the same series, but for flushes that follow each other faster than it polls.
///
/// Costs one load of an atomic a flush while no selector is recorded. Threads: any; Poll one at a
/// time. Destroy it when the store's thread has ended. Lock order: ours, then the pod index's and
/// the series'.
class EnvoyFeed final : public store::SampleStore, public Telemetry {
 public:
  struct Options {
    std::string cluster;  // value of the label `cluster`; "" for none
  };
  static constexpr std::chrono::milliseconds kPollInterval{500};

  EnvoyFeed(Options options, store::SampleStore& store, const kube::PodIndex& pods,
            series::SeriesStore& series, const base::Clock& clock, telemetry::Registry& registry);
  ~EnvoyFeed() override;

  /// `listener` runs after samples of a flush were added, on the thread that brought them and under
  /// no lock; it must not block. Call before anything is pushed.
  void SetListener(std::function<void()> listener) { listener_ = std::move(listener); }

  [[nodiscard]] std::unique_ptr<store::PodStream> Open(metric::PodKey pod) override;
  void Read(std::vector<metric::PodKey> pods, metric::MetricKind kind,
            store::ReadCallback done) override {
    store_.Read(std::move(pods), kind, std::move(done));
  }

  /// Reads the pods that recorded selectors may mean, all in one trip. To be called each
  /// kPollInterval, and when there is news in the store. False: nothing was done, since the last
  /// trip is still under way.
  bool Poll();

  /// Errors: kUnavailable: the store or the pods are not known now, or were not read since the
  /// selector came; no selected pod has a fresh heartbeat; or none of a selected workload that was
  /// heard before has one.
  [[nodiscard]] base::Result<void> Check(const series::Matchers& matchers) const override;

 private:
  class Stream;

  /// What is known of a pod, and what of it goes into series.
  struct Pod {
    std::string workload;
    std::array<metric::Labels, metric::kMetricKindCount> labels;
    std::array<int64_t, metric::kMetricKindCount> newest_ms{};
    std::array<bool, metric::kMetricKindCount> wanted{};
    uint64_t wanted_at = 0;  // the version of the selectors that `wanted` was found with
    enum class State : uint8_t {
      kUnread,   // since somebody wants it
      kFresh,    // heard within the TTL
      kSilent,   // not heard
      kUnknown,  // the part of the store that knows did not answer
    };
    State state = State::kUnread;
    bool heard = false;                                  // was fresh since we know it
    base::SteadyTime written = base::SteadyTime::min();  // when a flush came to this process
    uint64_t listed = 0;                                 // the poll that last found it in the index
  };
  using Pods = std::map<metric::PodKey, Pod>;
  using Entry = Pods::value_type;
  /// One poll. Its members after `asked` are guarded by mutex_.
  struct Trip {
    const base::SteadyTime begun;
    const std::vector<metric::PodKey> asked;
    size_t reads_left = metric::kMetricKindCount;
    bool appended = false;
    std::string problem;
  };

  void OnWrite(const metric::PodKey& key, const store::Flush& flush, base::SteadyTime received)
      EXCLUDES(mutex_);
  [[nodiscard]] Pod* FindOrAdd(const metric::PodKey& key) REQUIRES(mutex_);
  Pod& Put(const metric::PodKey& key, const std::string& workload) REQUIRES(mutex_);
  [[nodiscard]] bool UpdateWanted(Pod& pod, uint64_t version) REQUIRES(mutex_);
  bool Append(Pod& pod, size_t kind, metric::Quantity value, int64_t time_ms) REQUIRES(mutex_);
  void MarkStale(const Pod& pod) REQUIRES(mutex_);

  [[nodiscard]] bool UnderWay() const EXCLUDES(mutex_);
  void Forget() EXCLUDES(mutex_);
  /// Takes what the index lists, forgets other pods, and gives those that are wanted.
  [[nodiscard]] std::vector<metric::PodKey> Take(const std::vector<kube::IndexedPod>& listed,
                                                 uint64_t poll) EXCLUDES(mutex_);
  void OnRead(Trip& trip, size_t kind, const base::Result<store::ReadResult>& result)
      EXCLUDES(mutex_);
  bool TakeReading(Pod& pod, size_t kind, const store::PodReading& reading, bool partial)
      REQUIRES(mutex_);
  void OnPolled(Trip& trip) EXCLUDES(mutex_);
  void Report(std::string problem) EXCLUDES(mutex_);

  [[nodiscard]] std::vector<const Entry*> Selected(const series::Matchers& matchers) const
      REQUIRES(mutex_);
  [[nodiscard]] metric::Labels LabelsOf(const metric::PodKey& key, const std::string& workload,
                                        size_t kind) const;

  const Options options_;
  store::SampleStore& store_;
  const kube::PodIndex& index_;
  series::SeriesStore& series_;
  const base::Clock& clock_;
  telemetry::Counter& polls_;
  telemetry::Counter& failed_polls_;
  base::WarningGate poll_warning_;
  std::function<void()> listener_;

  std::shared_ptr<Trip> trip_;  // of Poll's thread; the reads hold it weakly

  mutable base::Mutex mutex_;
  Pods pods_ GUARDED_BY(mutex_);
  std::set<std::pair<std::string, const Entry*>> by_workload_ GUARDED_BY(mutex_);
  uint64_t polls_begun_ GUARDED_BY(mutex_) = 0;
  bool polled_ GUARDED_BY(mutex_) = false;  // the pods are those of some poll
  std::string problem_ GUARDED_BY(mutex_);  // why the last poll failed; "" if it did not
};

}  // namespace activescale::signal
