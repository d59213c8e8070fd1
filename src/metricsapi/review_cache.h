#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"

namespace activescale::metricsapi {

/// Remembers answers of a slow judge for a short time, and asks it once for all who want to know
/// the same at the same moment. Failures are not remembered. Threads: any. It must outlive every
/// answer.
template <typename Value>
class ReviewCache {
 public:
  using Callback = std::move_only_function<void(base::Result<Value>)>;
  using Ask = std::move_only_function<void(Callback)>;

  /// `max_entries` bounds what is remembered; questions in flight come on top, bounded by the
  /// connections that ask.
  ReviewCache(const base::Clock& clock, std::chrono::nanoseconds ttl, size_t max_entries)
      : clock_(clock), ttl_(ttl), max_entries_(max_entries) {}

  /// Hands the answer for `key` to `done`: at once if it is known, else when `ask` has it. `ask`
  /// runs on this thread if nobody else is asking, and must call its callback exactly once.
  void Get(std::string key, Ask ask, Callback done) {
    if (std::optional<Value> known = Known(key)) return done(*std::move(known));
    {
      base::MutexLock lock(mutex_);
      Entry& entry = EntryFor(key);
      entry.waiting.push_back(std::move(done));
      if (entry.waiting.size() > 1) return;
    }
    ask([this, key = std::move(key)](base::Result<Value> answer) {
      OnAnswer(key, std::move(answer));
    });
  }

 private:
  struct Entry {
    std::optional<Value> value;
    base::SteadyTime expires = base::SteadyTime::min();
    std::vector<Callback> waiting;  // not empty: the question is in flight
  };

  std::optional<Value> Known(const std::string& key) {
    base::MutexLock lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || clock_.Now() >= found->second.expires) return std::nullopt;
    return found->second.value;
  }

  Entry& EntryFor(const std::string& key) REQUIRES(mutex_) {
    const auto found = entries_.find(key);
    if (found != entries_.end()) return found->second;
    if (entries_.size() >= max_entries_) {
      const base::SteadyTime now = clock_.Now();
      std::erase_if(entries_, [now](const auto& item) {
        return item.second.waiting.empty() && item.second.expires <= now;
      });
    }
    if (entries_.size() >= max_entries_) {  // rare: forgetting all costs a few reviews
      std::erase_if(entries_, [](const auto& item) { return item.second.waiting.empty(); });
    }
    return entries_[key];
  }

  void OnAnswer(const std::string& key, base::Result<Value> answer) {
    std::vector<Callback> waiting;
    {
      base::MutexLock lock(mutex_);
      const auto entry = entries_.find(key);
      waiting = std::move(entry->second.waiting);
      entry->second.waiting.clear();
      if (answer) {
        entry->second.value = *answer;
        entry->second.expires = clock_.Now() + ttl_;
      } else {
        entries_.erase(entry);
      }
    }
    for (Callback& done : waiting) done(answer);
  }

  const base::Clock& clock_;
  const std::chrono::nanoseconds ttl_;
  const size_t max_entries_;
  base::Mutex mutex_;
  std::unordered_map<std::string, Entry> entries_ GUARDED_BY(mutex_);
};

}  // namespace activescale::metricsapi
