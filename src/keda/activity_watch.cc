#include "keda/activity_watch.h"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace activescale::keda {

base::Result<void> ActivityWatch::Add(std::shared_ptr<ActivityListener> listener, Trigger trigger,
                                      std::optional<ScaledObject> object) {
  const base::MutexLock lock(mutex_);
  if (entries_.size() >= max_listeners_) {
    return base::Fail(base::Code::kResourceExhausted,
                      fmt::format("{} streams are open, which is the limit", max_listeners_));
  }
  entries_.push_back(std::make_shared<Entry>(
      Entry{std::move(listener), std::move(trigger), std::move(object), std::nullopt}));
  version_.fetch_add(1, std::memory_order_relaxed);
  Wake();
  return {};
}

void ActivityWatch::Remove(const ActivityListener& listener) {
  const base::MutexLock lock(mutex_);
  std::erase_if(entries_, [&](const auto& entry) { return entry->listener.get() == &listener; });
  version_.fetch_add(1, std::memory_order_relaxed);
}

std::vector<ScaledObject> ActivityWatch::Objects() const {
  std::set<ScaledObject> objects;
  {
    const base::MutexLock lock(mutex_);
    for (const auto& entry : entries_) {
      if (entry->object) objects.insert(*entry->object);
    }
  }
  return {objects.begin(), objects.end()};
}

void ActivityWatch::Tick() {
  const base::SteadyTime begin = clock_.Now();
  if (begin < rest_until_) return;
  const bool full = begin >= full_round_;
  if (!woken_.exchange(false, std::memory_order_relaxed) && !full) return;
  if (full) full_round_ = begin + kFullRound;
  std::vector<std::shared_ptr<Entry>> entries;
  {
    const base::MutexLock lock(mutex_);
    entries = entries_;
  }
  for (const auto& entry : entries) {
    // What is active can only become inactive, which nobody waits for.
    if (full || entry->active != true) Look(*entry);
  }
  const base::SteadyTime end = clock_.Now();
  rest_until_ = end + (end - begin);
}

void ActivityWatch::Look(Entry& entry) const {
  const auto active = scaler_.IsActive(entry.trigger);
  if (!active) return;
  const bool told = entry.active.has_value();
  const bool woke = *active && entry.active != true;
  entry.active = *active;
  if (!told || woke) entry.listener->OnActivity(*active);
}

}  // namespace activescale::keda
