#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace activescale::ingest {

/// Something that has to act when a moment comes: a stream with a flush that is held back.
class Due {
 public:
  virtual ~Due() = default;
  /// Its moment has come. Returns the next one, or nothing.
  virtual std::optional<base::SteadyTime> OnDue(base::SteadyTime now) = 0;
};

/// Wakes streams at their moments, in the order of these. Holds at most what was scheduled and not
/// yet woken, and no stream alive. Threads: any; no lock is held while a stream acts.
class PublicationQueue {
 public:
  void Schedule(std::weak_ptr<Due> due, base::SteadyTime at);

  /// Wakes all whose moment is not after `now`. Returns the next moment, or nothing if none is
  /// known. To be called by one thread.
  std::optional<base::SteadyTime> Tick(base::SteadyTime now);

 private:
  struct Item {
    base::SteadyTime at;
    std::weak_ptr<Due> due;
  };

  [[nodiscard]] std::optional<Item> Pop(base::SteadyTime now);
  [[nodiscard]] std::optional<base::SteadyTime> Next();

  base::Mutex mutex_;
  std::vector<Item> heap_ GUARDED_BY(mutex_);  // the earliest first
};

}  // namespace activescale::ingest
