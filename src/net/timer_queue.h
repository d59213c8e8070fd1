#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/clock.h"

namespace activescale::net {

using TimerId = uint64_t;  // 0 is never used

/// Things to run at a later moment, for a loop to drive. Threads: one at a time.
class TimerQueue {
 public:
  TimerId Add(base::SteadyTime when, std::move_only_function<void()> run) {
    const TimerId id = ++last_id_;
    const auto it = timers_.emplace(when, Timer{id, std::move(run)});
    by_id_.emplace(id, it);
    return id;
  }

  /// Forgets the timer; nothing if it ran already.
  void Cancel(TimerId id) {
    const auto it = by_id_.find(id);
    if (it == by_id_.end()) return;
    timers_.erase(it->second);
    by_id_.erase(it);
  }

  /// When the next timer is due; nothing if there is none.
  [[nodiscard]] std::optional<base::SteadyTime> Next() const {
    if (timers_.empty()) return std::nullopt;
    return timers_.begin()->first;
  }

  /// Runs what is due at `now`, in order of time. A timer that is added meanwhile and due runs too
  /// only if its time is before `now`, so that a timer that re-adds itself cannot hold the loop.
  void RunDue(base::SteadyTime now) {
    const TimerId newest = last_id_;
    while (!timers_.empty() && timers_.begin()->first <= now) {
      const auto it = timers_.begin();
      if (it->second.id > newest) break;
      auto run = std::move(it->second.run);
      by_id_.erase(it->second.id);
      timers_.erase(it);
      run();
    }
  }

 private:
  struct Timer {
    TimerId id;
    std::move_only_function<void()> run;
  };
  using Timers = std::multimap<base::SteadyTime, Timer>;

  TimerId last_id_ = 0;
  Timers timers_;
  std::unordered_map<TimerId, Timers::iterator> by_id_;
};

}  // namespace activescale::net
