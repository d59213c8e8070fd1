// Invariants:
// 1. A record with open_streams > 0 is never removed: streams point at it.
// 2. owner_epoch is the epoch of the last stream that was opened or, after it was released, of the
//    last one that wrote; a write of a lower epoch than an owner's that is still open is refused.
// 3. No shard lock is held while another one is taken or a callback runs.
#include "store/embedded_store.h"

#include <malloc.h>

#include <utility>

namespace activescale::store {
namespace {

// Removing fewer records than this frees too little to ask the allocator for it.
constexpr size_t kTrimAfterRemoved = 10'000;

}  // namespace

/// Writes through a pointer to the record, so a write costs one lock and no look-up.
class EmbeddedStore::Stream final : public PodStream {
 public:
  Stream(EmbeddedStore& store, Shard& shard, metric::PodKey pod)
      : store_(store), shard_(shard), pod_(std::move(pod)) {
    base::MutexLock lock(shard_.mutex);
    epoch_ = store_.next_epoch_.fetch_add(1, std::memory_order_relaxed);
    Attach();
  }

  ~Stream() override {
    base::MutexLock lock(shard_.mutex);
    if (record_ == nullptr) return;
    if (record_->owner_epoch == epoch_) record_->owner_released = true;
    --record_->open_streams;
  }

  WriteOutcome Write(const Flush& flush, base::SteadyTime received) override {
    base::MutexLock lock(shard_.mutex);
    const WriteOutcome outcome = Own(received);
    if (outcome != WriteOutcome::kStored) return outcome;
    for (size_t i = 0; i < flush.values.size(); ++i) {
      if (flush.values[i]) record_->cells[i] = {*flush.values[i], received};
    }
    return outcome;
  }

  WriteOutcome Heartbeat(base::SteadyTime received) override {
    base::MutexLock lock(shard_.mutex);
    return Own(received);
  }

 private:
  /// Finds the stream's record and makes this stream the one that counts.
  void Attach() REQUIRES(shard_.mutex) {
    record_ = store_.FindOrAdd(shard_, pod_);
    if (record_ == nullptr) return;
    ++record_->open_streams;
    if (record_->owner_released || epoch_ > record_->owner_epoch) {
      record_->owner_epoch = epoch_;
      record_->owner_released = false;
    }
  }

  WriteOutcome Own(base::SteadyTime received) REQUIRES(shard_.mutex) {
    if (record_ == nullptr) Attach();
    if (record_ == nullptr) return WriteOutcome::kDropped;
    if (epoch_ < record_->owner_epoch && !record_->owner_released) {
      return WriteOutcome::kSuperseded;
    }
    record_->owner_epoch = epoch_;
    record_->owner_released = false;
    record_->heartbeat = received;
    return WriteOutcome::kStored;
  }

  EmbeddedStore& store_;
  Shard& shard_;
  const metric::PodKey pod_;
  uint64_t epoch_ = 0;
  Record* record_ = nullptr;  // null while the store is full
};

EmbeddedStore::EmbeddedStore(EmbeddedStoreOptions options, const base::Clock& clock,
                             telemetry::Registry& registry)
    : options_(options),
      clock_(clock),
      pods_gauge_(registry.AddGauge("activescale_store_pods",
                                    "Pods kept in the embedded store, fresh or not.")),
      full_(registry.AddCounter("activescale_store_dropped_writes_total",
                                "Writes that the store refused.", {{"reason", "max_pods"}})) {}

EmbeddedStore::~EmbeddedStore() = default;

EmbeddedStore::Shard& EmbeddedStore::ShardOf(metric::PodKeyView pod) {
  // The map inside a shard uses the low bits of the same hash; take the high ones here.
  return shards_[(metric::PodKeyHash{}(pod) >> 48) % kShards];
}

EmbeddedStore::Record* EmbeddedStore::FindOrAdd(Shard& shard, const metric::PodKey& pod) {
  if (const auto it = shard.map.find(pod); it != shard.map.end()) return &it->second;
  if (pod_count() >= options_.max_pods) {
    full_.Increment();
    return nullptr;
  }
  pod_count_.fetch_add(1, std::memory_order_relaxed);
  return &shard.map[pod];
}

std::unique_ptr<PodStream> EmbeddedStore::Open(metric::PodKey pod) {
  Shard& shard = ShardOf(pod.View());
  return std::make_unique<Stream>(*this, shard, std::move(pod));
}

template <typename See>
void EmbeddedStore::IfHeard(metric::PodKeyView pod, base::SteadyTime now, See see) {
  Shard& shard = ShardOf(pod);
  base::MutexLock lock(shard.mutex);
  const auto it = shard.map.find(pod);
  if (it != shard.map.end() && Fresh(it->second.heartbeat, now)) see(it->second);
}

PodReading EmbeddedStore::ReadingOf(const Record& record, size_t kind, base::SteadyTime now) const {
  const Cell& cell = record.cells[kind];
  if (!Fresh(cell.received, now)) {
    return {PodReading::State::kSynthesizedZero, {}, record.heartbeat};
  }
  return {PodReading::State::kValue, cell.value, cell.received};
}

void EmbeddedStore::Read(std::vector<metric::PodKey> pods, metric::MetricKind kind,
                         ReadCallback done) {
  const base::SteadyTime now = clock_.Now();
  ReadResult result;
  result.readings.resize(pods.size());
  for (size_t i = 0; i < pods.size(); ++i) {
    IfHeard(pods[i].View(), now, [&](const Record& record) {
      result.readings[i] = ReadingOf(record, static_cast<size_t>(kind), now);
    });
  }
  done(std::move(result));
}

void EmbeddedStore::ReadAll(const std::vector<metric::PodKey>& pods, ReadAllCallback done) {
  const base::SteadyTime now = clock_.Now();
  ReadAllResult result;
  result.readings.resize(pods.size());
  for (size_t i = 0; i < pods.size(); ++i) {
    IfHeard(pods[i].View(), now, [&](const Record& record) {
      auto& readings = result.readings[i];
      for (size_t kind = 0; kind < readings.size(); ++kind) {
        readings[kind] = ReadingOf(record, kind, now);
      }
    });
  }
  done(std::move(result));
}

size_t EmbeddedStore::ExpireShard(Shard& shard, base::SteadyTime now) {
  base::MutexLock lock(shard.mutex);
  const size_t removed = std::erase_if(shard.map, [&](const auto& entry) {
    return entry.second.open_streams == 0 && !Fresh(entry.second.heartbeat, now);
  });
  // erase() keeps the buckets of the fullest moment.
  if (removed > 0 && shard.map.bucket_count() > 64 &&
      shard.map.size() < shard.map.bucket_count() / 4) {
    shard.map.rehash(0);
  }
  return removed;
}

void EmbeddedStore::Expire(base::SteadyTime now) {
  size_t removed = 0;
  for (size_t i = 0; i < kShardsPerExpire; ++i) {
    removed += ExpireShard(shards_[next_shard_], now);
    next_shard_ = (next_shard_ + 1) % kShards;
  }
  pod_count_.fetch_sub(removed, std::memory_order_relaxed);
  pods_gauge_.Set(static_cast<double>(pod_count()));
  removed_since_trim_ += removed;
  if (next_shard_ == 0 && removed_since_trim_ >= kTrimAfterRemoved) {
    removed_since_trim_ = 0;
    malloc_trim(0);
  }
}

}  // namespace activescale::store
