#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "metric/metric_kind.h"
#include "metric/quantity.h"
#include "store/redis/record.h"

namespace activescale::store {

/// One open stream's newest state and how far it got. Threads: any, under its lock.
struct StreamState : std::enable_shared_from_this<StreamState> {
  static constexpr base::SteadyTime kNever = base::SteadyTime::min();

  struct Sample {
    metric::Quantity value;
    base::SteadyTime received = kNever;
  };
  enum class Place : uint8_t {
    kIdle,      // Redis has the newest state, or there is nothing worth sending
    kQueued,    // waits to be sent
    kSending,   // its operation is under way
    kOvertaken  // its operation is under way, and there is a newer state already
  };

  StreamState(RecordKey record_key, uint64_t owner_id, base::SteadyTime now)
      : key(std::move(record_key)), owner(owner_id), opened(now) {}

  const RecordKey key;
  const uint64_t owner;
  const base::SteadyTime opened;

  base::Mutex mutex;
  Place place GUARDED_BY(mutex) = Place::kIdle;
  bool registered GUARDED_BY(mutex) = false;  // else a bound was hit: its writes are dropped
  bool closed GUARDED_BY(mutex) = false;
  bool superseded GUARDED_BY(mutex) = false;     // as of the last answer
  bool late GUARDED_BY(mutex) = false;           // a heartbeat waits for its second
  uint64_t claimed_epoch GUARDED_BY(mutex) = 0;  // of the last claim sent
  uint64_t epoch GUARDED_BY(mutex) = 0;          // 0 until the claim was accepted
  base::SteadyTime heartbeat GUARDED_BY(mutex) = kNever;
  std::array<Sample, metric::kMetricKindCount> samples GUARDED_BY(mutex);
  base::SteadyTime sent_heartbeat GUARDED_BY(mutex) = kNever;
  base::SteadyTime sent_at GUARDED_BY(mutex) = kNever;
};

}  // namespace activescale::store
