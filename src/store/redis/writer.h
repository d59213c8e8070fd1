#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "metric/metric_kind.h"
#include "metric/pod_key.h"
#include "redis/client.h"
#include "redis/script.h"
#include "redis/slots.h"
#include "store/redis/record.h"
#include "store/redis/stream_state.h"
#include "store/redis/write_counters.h"
#include "store/sample_store.h"
#include "telemetry/registry.h"

namespace activescale::store {

/// The writing half of RedisStore: keeps the newest state of each open stream and brings it into
/// Redis in batches. What a stream writes while its last state is under way, or while Redis is
/// away, replaces what waits: memory depends on the number of streams alone.
class Writer {
 public:
  struct Options {
    std::chrono::nanoseconds ttl;
    std::string context;  // prefix of the keys
    size_t max_streams;   // known at once, closed ones included until Redis knows too
  };

  /// `owner_base` names the first stream, each later one the next number. Replicas must not share a
  /// range, so it is to be random. The client must outlive the writer.
  Writer(Options options, redis::Client& client, const base::Clock& clock,
         telemetry::Registry& registry, uint64_t owner_base);

  // Threads: any. Never block but for a short lock.
  [[nodiscard]] std::shared_ptr<StreamState> Open(const metric::PodKey& pod);
  WriteOutcome Write(StreamState& stream, const Flush& flush, base::SteadyTime received);
  WriteOutcome Heartbeat(StreamState& stream, base::SteadyTime received);
  void Close(StreamState& stream);
  /// Streams whose newest state is not yet in Redis.
  [[nodiscard]] size_t pending() const { return pending_.load(std::memory_order_relaxed); }
  /// What keeps Redis from taking writes, since when: empty if it takes them.
  [[nodiscard]] std::string Refusal() const;
  /// The newest key that was refused for what it holds, if that was in the last minute.
  [[nodiscard]] std::string RefusedKey() const;

  // Threads: the loop's.
  /// Sends what is due. To be called each few milliseconds: what a stream writes waits for it.
  void FlushDue();
  /// What was written to these slots may be lost: the newest states of their streams are written
  /// again.
  void OnRoutesReady(const redis::SlotSet& slots);
  /// Writes a key of no pod if writes are being refused, at most once a second, so that it shows
  /// when they are taken again even if no stream writes.
  void ProbeIfRefused();

 private:
  using StreamPointer = std::shared_ptr<StreamState>;
  using Batch = std::vector<StreamPointer>;

  void MarkDirty(StreamState& stream) REQUIRES(stream.mutex);
  [[nodiscard]] bool Register(StreamState& stream) REQUIRES(stream.mutex);
  [[nodiscard]] bool Fresh(base::SteadyTime at, base::SteadyTime now) const;

  [[nodiscard]] static bool Claimed(StreamState& stream);
  /// Whether the clock of the slot's server is known well enough for a claim, or as well as it
  /// gets.
  [[nodiscard]] bool ClockIsSettled(uint16_t slot);
  void MarkDueHeartbeats(base::SteadyTime now);
  void RetryParked(base::SteadyTime now);
  [[nodiscard]] std::vector<StreamPointer> TakeQueue();
  /// The operation that brings the stream's newest state to Redis; nothing if there is none to
  /// bring.
  [[nodiscard]] std::optional<std::string> Encode(StreamState& stream,
                                                  const redis::ServerClock& clock,
                                                  base::SteadyTime now);
  /// Sends the newest states of these streams of one slot.
  void SendBatch(uint16_t slot, const Batch& streams);
  void Park(StreamPointer stream, base::SteadyTime now);
  void OnAnswer(uint16_t slot, const Batch& batch, base::Result<redis::Answer> answer);
  void OnError(uint16_t slot, const Batch& batch, const std::string& error);
  void OnOutcome(StreamState& stream, int64_t outcome);
  /// The stream's operation is done; what came meanwhile is queued.
  void Settle(const StreamPointer& stream);
  void Retry(const Batch& batch);
  void Forget(const StreamPointer& stream);
  void SetRefusal(const std::string& reason, const std::string& key);
  void SetRefusedKey(const StreamState& stream, std::string_view why);

  const Options options_;
  redis::Client& client_;
  const base::Clock& clock_;
  const redis::Script script_;
  const std::string ttl_ms_;
  WriteCounters counters_;
  std::atomic<uint64_t> next_owner_;
  std::atomic<size_t> pending_{0};

  mutable base::Mutex mutex_;  // taken after a stream's, never before
  std::vector<StreamPointer> queue_ GUARDED_BY(mutex_);
  std::vector<StreamPointer> late_heartbeats_ GUARDED_BY(mutex_);
  std::unordered_set<StreamPointer> streams_ GUARDED_BY(mutex_);
  std::string refusal_ GUARDED_BY(mutex_);
  base::SteadyTime refused_since_ GUARDED_BY(mutex_);
  base::SteadyTime refusal_logged_at_ GUARDED_BY(mutex_);
  std::string refused_key_ GUARDED_BY(mutex_);
  base::SteadyTime key_refused_at_ GUARDED_BY(mutex_);

  // Of the loop alone.
  std::vector<StreamPointer> parked_;  // waits for its slot's server, or for the next retry
  RecordKey probe_key_;                // of the slot that was refused last
  base::SteadyTime last_probe_;
  base::SteadyTime next_retry_;
  base::SteadyTime next_heartbeats_;
};

}  // namespace activescale::store
