#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "metric/pod_key.h"
#include "store/sample_store.h"
#include "telemetry/registry.h"

namespace activescale::store {

struct EmbeddedStoreOptions {
  /// Age at which a heartbeat or a sample stops counting; > 0.
  std::chrono::nanoseconds ttl = std::chrono::seconds(20);
  /// Pods kept at most; a stream of one more is dropped and counted. Bounds memory: about 300 bytes
  /// a pod.
  size_t max_pods = 200'000;
};

/// The store of a single replica: this process's memory, in shards that are each locked for a
/// look-up and never across a call out. Read answers on the caller's thread.
/// PodStreams must be destroyed before the store. Threads: any.
class EmbeddedStore final : public SampleStore {
 public:
  EmbeddedStore(EmbeddedStoreOptions options, const base::Clock& clock,
                telemetry::Registry& registry);
  ~EmbeddedStore() override;

  [[nodiscard]] std::unique_ptr<PodStream> Open(metric::PodKey pod) override;
  void Read(std::vector<metric::PodKey> pods, metric::MetricKind kind, ReadCallback done) override;
  /// By one look-up of each pod.
  void ReadAll(const std::vector<metric::PodKey>& pods, ReadAllCallback done) override;

  /// Removes pods without an open stream whose heartbeat is older than the TTL, of a few shards a
  /// call, so that one call stays short; a full turn takes kTurn calls. Memory goes back to the
  /// system after many were removed. To be called about five times a second, by one thread.
  void Expire(base::SteadyTime now);

  /// Pods kept now, fresh or not.
  [[nodiscard]] size_t pod_count() const { return pod_count_.load(std::memory_order_relaxed); }

  static constexpr size_t kShards = 64;  // a power of two
  static constexpr size_t kShardsPerExpire = 2;
  static constexpr size_t kTurn = kShards / kShardsPerExpire;

 private:
  class Stream;

  struct Cell {
    metric::Quantity value;
    base::SteadyTime received = kNever;
  };
  /// All that is known of one pod. It stays in place while a stream is open.
  struct Record {
    base::SteadyTime heartbeat = kNever;
    std::array<Cell, metric::kMetricKindCount> cells;
    uint64_t owner_epoch = 0;  // of the stream that counts
    bool owner_released = true;
    uint32_t open_streams = 0;
  };
  using Map = std::unordered_map<metric::PodKey, Record, metric::PodKeyHash, metric::PodKeyEqual>;
  /// On its own cache lines, so that two threads in two shards do not disturb each other.
  struct alignas(64) Shard {
    base::Mutex mutex;
    Map map GUARDED_BY(mutex);
  };

  static constexpr base::SteadyTime kNever = base::SteadyTime::min();

  [[nodiscard]] Shard& ShardOf(metric::PodKeyView pod);
  [[nodiscard]] Record* FindOrAdd(Shard& shard, const metric::PodKey& pod) REQUIRES(shard.mutex);
  [[nodiscard]] bool Fresh(base::SteadyTime at, base::SteadyTime now) const {
    return at != kNever && now - at < options_.ttl;
  }
  /// Calls `see` with the pod's record under the lock of its shard, if it has a fresh heartbeat.
  template <typename See>
  void IfHeard(metric::PodKeyView pod, base::SteadyTime now, See see);
  [[nodiscard]] PodReading ReadingOf(const Record& record, size_t kind, base::SteadyTime now) const;
  size_t ExpireShard(Shard& shard, base::SteadyTime now);

  const EmbeddedStoreOptions options_;
  const base::Clock& clock_;
  telemetry::Gauge& pods_gauge_;
  telemetry::Counter& full_;

  std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> next_epoch_{1};
  std::atomic<size_t> pod_count_{0};

  // Of Expire's thread alone.
  size_t next_shard_ = 0;
  size_t removed_since_trim_ = 0;
};

}  // namespace activescale::store
