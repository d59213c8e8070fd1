#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/warning_gate.h"
#include "keda/activity_watch.h"
#include "keda/trigger.h"
#include "series/series_store.h"
#include "signal/stat_feed.h"
#include "store/shared_log.h"
#include "telemetry/registry.h"

namespace activescale::exchange::v1 {
class Entry;
class Stats;
}  // namespace activescale::exchange::v1

namespace activescale::app {

/// Passes between the replicas that share a store what one of them alone would know, so that each
/// gives the same answer: selectors that somebody asked for, samples of remote_write and of chosen
/// stats, and for which triggers KEDA waits, so that the replica that gets a flush wakes the one
/// that has the stream. Threads: Tick one at a time; the rest any.
class ReplicaExchange {
 public:
  /// Tick's interval: what is to be told waits this long at most.
  static constexpr std::chrono::milliseconds kInterval{20};
  /// How long a trigger of another replica is looked at after it was last told of.
  static constexpr std::chrono::seconds kTriggerLease{150};

  struct Parts {
    series::SeriesStore& series;
    signal::StatFeed* stats;  // null: none are chosen
    keda::ActivityWatch& activity;
    keda::TriggerRules rules;
    const base::Clock& clock;
    uint64_t seed;  // names this process: another number on each replica
  };

  /// All of them must outlive it.
  ReplicaExchange(const Parts& parts, store::SharedLog& log, telemetry::Registry& registry);
  ~ReplicaExchange();

  /// `take` takes what another replica was sent by remote_write. Call before anything is taken.
  void SetWritten(std::function<void(std::string_view message)> take) {
    take_written_ = std::move(take);
  }
  /// Of what was sent to this process by remote_write and recorded.
  void TellWritten(std::string message) EXCLUDES(mutex_);
  /// Of an Envoy that pushes to this process.
  void TellStats(const signal::StatFeed::Message& message) EXCLUDES(mutex_);

  /// What another replica told, written at `written`.
  void Take(std::string_view entry, base::SteadyTime written) EXCLUDES(mutex_);

  /// Tells what is to be told.
  void Tick() EXCLUDES(mutex_);

  /// Whether another replica said that a trigger became active, since the last call: what it wrote
  /// is in the store.
  [[nodiscard]] bool TakeWakeUp() { return woken_.exchange(false, std::memory_order_relaxed); }

 private:
  class RemoteStream;
  struct RemoteTrigger {
    std::shared_ptr<RemoteStream> stream;
    base::SteadyTime told;
  };

  void Tell(exchange::v1::Entry entry);
  void TellSelectors();
  void TellTriggers();
  void TakeSelectors(const exchange::v1::Entry& entry);
  void TakeStats(const exchange::v1::Stats& stats, int64_t shift_ms);
  void TakeTriggers(const exchange::v1::Entry& entry) EXCLUDES(mutex_);
  void ForgetTriggers() EXCLUDES(mutex_);
  [[nodiscard]] int64_t ShiftOf(const exchange::v1::Entry& entry, base::SteadyTime written)
      EXCLUDES(mutex_);
  void Refuse(telemetry::Counter& reason, std::string_view what);

  const Parts parts_;
  store::SharedLog& log_;
  telemetry::Counter& malformed_;
  telemetry::Counter& unusable_;
  base::WarningGate warning_;
  std::function<void(std::string_view)> take_written_;
  std::atomic<bool> woken_{false};

  // Of Tick alone.
  base::SteadyTime next_selectors_ = base::SteadyTime::min();
  base::SteadyTime next_triggers_ = base::SteadyTime::min();
  uint64_t told_triggers_ = 0;  // the version of the watch

  base::Mutex mutex_;
  std::unique_ptr<exchange::v1::Entry> stats_ GUARDED_BY(mutex_);  // to be told
  size_t stats_bytes_ GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, int64_t> clock_ahead_ms_ GUARDED_BY(mutex_);  // ours before the sender's
  std::map<keda::ScaledObject, RemoteTrigger> triggers_ GUARDED_BY(mutex_);
};

}  // namespace activescale::app
