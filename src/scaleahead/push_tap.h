#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "metric/pod_key.h"
#include "store/sample_store.h"

namespace activescale::scaleahead {

/// Notes which pods' flushes are stored: a store in front of another one. Costs one load of an
/// atomic a flush while nobody wants to know. Threads: any.
class PushTap final : public store::SampleStore {
 public:
  /// Pods noted at most between two calls of Take.
  static constexpr size_t kMaxNoted = 50'000;

  /// `store` must outlive it.
  explicit PushTap(store::SampleStore& store) : store_(store) {}

  [[nodiscard]] std::unique_ptr<store::PodStream> Open(metric::PodKey pod) override;
  void Read(std::vector<metric::PodKey> pods, metric::MetricKind kind,
            store::ReadCallback done) override {
    store_.Read(std::move(pods), kind, std::move(done));
  }

  /// Whether pods are noted.
  void SetWanted(bool wanted) { wanted_.store(wanted, std::memory_order_relaxed); }

  struct Pushed {
    std::vector<metric::PodKey> pods;
    bool more = false;  // there were more than could be noted
  };
  /// What was pushed since the last call.
  [[nodiscard]] Pushed Take() EXCLUDES(mutex_);

 private:
  class Stream;
  void Note(const metric::PodKey& pod) EXCLUDES(mutex_);

  store::SampleStore& store_;
  std::atomic<bool> wanted_{false};
  base::Mutex mutex_;
  Pushed pushed_ GUARDED_BY(mutex_);
};

}  // namespace activescale::scaleahead
