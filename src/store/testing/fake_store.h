#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "store/sample_store.h"

namespace activescale::store {

/// A store whose readings a test writes down. It knows no TTL: what was set is what is read.
/// Threads: any.
class FakeStore final : public SampleStore {
 public:
  /// How a test answers a read itself: later, or from another thread.
  using Hold = std::function<void(std::move_only_function<void()> answer)>;

  void SetValue(const metric::PodKey& pod, metric::MetricKind kind, double value,
                base::SteadyTime received) {
    Set(pod, kind, {PodReading::State::kValue, *metric::Quantity::FromSample(value), received});
  }
  void SetIdle(const metric::PodKey& pod, metric::MetricKind kind, base::SteadyTime received) {
    Set(pod, kind, {PodReading::State::kSynthesizedZero, {}, received});
  }
  void SetMissing(const metric::PodKey& pod, metric::MetricKind kind) { Set(pod, kind, {}); }
  /// Every read fails from now on; nothing heals it.
  void Fail(std::optional<base::Error> error) {
    base::MutexLock lock(mutex_);
    error_ = std::move(error);
  }
  void SetPartial(bool partial) {
    base::MutexLock lock(mutex_);
    partial_ = partial;
  }
  /// Each answer goes to `hold` instead of to the reader.
  void HoldAnswers(Hold hold) {
    base::MutexLock lock(mutex_);
    hold_ = std::move(hold);
  }
  [[nodiscard]] int reads() const {
    base::MutexLock lock(mutex_);
    return reads_;
  }

  /// Takes everything and shows nothing: readings come from Set alone.
  std::unique_ptr<PodStream> Open(metric::PodKey) override {
    class Stream final : public PodStream {
      WriteOutcome Write(const Flush&, base::SteadyTime) override { return WriteOutcome::kStored; }
      WriteOutcome Heartbeat(base::SteadyTime) override { return WriteOutcome::kStored; }
    };
    return std::make_unique<Stream>();
  }

  void Read(std::vector<metric::PodKey> pods, metric::MetricKind kind, ReadCallback done) override {
    base::Result<ReadResult> result = Look(pods, kind);
    Hold hold;
    {
      base::MutexLock lock(mutex_);
      hold = hold_;
    }
    if (!hold) return done(std::move(result));
    hold([done = std::move(done), result = std::move(result)]() mutable {
      done(std::move(result));
    });
  }

 private:
  void Set(const metric::PodKey& pod, metric::MetricKind kind, PodReading reading) {
    base::MutexLock lock(mutex_);
    readings_[{pod, kind}] = reading;
  }
  base::Result<ReadResult> Look(const std::vector<metric::PodKey>& pods, metric::MetricKind kind) {
    base::MutexLock lock(mutex_);
    ++reads_;
    if (error_) return std::unexpected(*error_);
    ReadResult result;
    result.partial = partial_;
    for (const metric::PodKey& pod : pods) {
      const auto found = readings_.find({pod, kind});
      result.readings.push_back(found == readings_.end() ? PodReading{} : found->second);
    }
    return result;
  }

  mutable base::Mutex mutex_;
  std::map<std::pair<metric::PodKey, metric::MetricKind>, PodReading> readings_ GUARDED_BY(mutex_);
  std::optional<base::Error> error_ GUARDED_BY(mutex_);
  Hold hold_ GUARDED_BY(mutex_);
  bool partial_ GUARDED_BY(mutex_) = false;
  int reads_ GUARDED_BY(mutex_) = 0;
};

}  // namespace activescale::store
