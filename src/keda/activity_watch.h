#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "keda/scaler.h"
#include "keda/trigger.h"

namespace activescale::keda {

/// Who waits for a trigger's workload to have something to do.
class ActivityListener {
 public:
  virtual ~ActivityListener() = default;
  /// Must not block, nor call the watch. Threads: the watch's.
  virtual void OnActivity(bool active) = 0;
};

/// Tells listeners the present state of their triggers once, and from then on when it becomes
/// active. That it becomes inactive is not told: KEDA finds out by asking, and an event could put
/// to rest what another trigger keeps awake. A state that is not known is told when it is.
/// Threads: Tick on one; the rest any.
class ActivityWatch {
 public:
  /// Also without new samples a window moves on; what is active is looked at only this often.
  static constexpr std::chrono::seconds kFullRound{1};

  /// Both must outlive it.
  ActivityWatch(const Scaler& scaler, const base::Clock& clock, size_t max_listeners)
      : scaler_(scaler), clock_(clock), max_listeners_(max_listeners) {}

  /// `object`: what the trigger was read from, if a stream of KEDA's waits; nothing if another
  /// replica does. Errors: kResourceExhausted.
  [[nodiscard]] base::Result<void> Add(std::shared_ptr<ActivityListener> listener, Trigger trigger,
                                       std::optional<ScaledObject> object = std::nullopt)
      EXCLUDES(mutex_);
  void Remove(const ActivityListener& listener) EXCLUDES(mutex_);

  /// What streams of KEDA wait for here, each once, and a number that changes with it.
  [[nodiscard]] std::vector<ScaledObject> Objects() const EXCLUDES(mutex_);
  [[nodiscard]] uint64_t version() const { return version_.load(std::memory_order_relaxed); }

  /// There are new samples. Cheap.
  void Wake() { woken_.store(true, std::memory_order_relaxed); }
  /// Looks at the triggers if it was woken or a full round is due; else returns at once. Takes at
  /// most half of its thread's time.
  void Tick() EXCLUDES(mutex_);

 private:
  struct Entry {
    std::shared_ptr<ActivityListener> listener;
    Trigger trigger;
    std::optional<ScaledObject> object;
    std::optional<bool> active;  // as last known; of the thread that ticks
  };

  void Look(Entry& entry) const;

  const Scaler& scaler_;
  const base::Clock& clock_;
  const size_t max_listeners_;
  std::atomic<bool> woken_{false};
  base::SteadyTime rest_until_ = base::SteadyTime::min();
  base::SteadyTime full_round_ = base::SteadyTime::min();
  std::atomic<uint64_t> version_{0};
  mutable base::Mutex mutex_;
  std::vector<std::shared_ptr<Entry>> entries_ GUARDED_BY(mutex_);
};

}  // namespace activescale::keda
