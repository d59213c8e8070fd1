#include "ingest/publication_queue.h"

#include <algorithm>
#include <utility>

namespace activescale::ingest {
namespace {

constexpr auto kLater = [](const auto& a, const auto& b) { return a.at > b.at; };

}  // namespace

void PublicationQueue::Schedule(std::weak_ptr<Due> due, base::SteadyTime at) {
  base::MutexLock lock(mutex_);
  heap_.push_back({at, std::move(due)});
  std::ranges::push_heap(heap_, kLater);
}

std::optional<PublicationQueue::Item> PublicationQueue::Pop(base::SteadyTime now) {
  base::MutexLock lock(mutex_);
  if (heap_.empty() || heap_.front().at > now) return std::nullopt;
  std::ranges::pop_heap(heap_, kLater);
  Item item = std::move(heap_.back());
  heap_.pop_back();
  return item;
}

std::optional<base::SteadyTime> PublicationQueue::Next() {
  base::MutexLock lock(mutex_);
  if (heap_.empty()) return std::nullopt;
  return heap_.front().at;
}

std::optional<base::SteadyTime> PublicationQueue::Tick(base::SteadyTime now) {
  while (std::optional<Item> item = Pop(now)) {
    const std::shared_ptr<Due> due = item->due.lock();
    if (due == nullptr) continue;
    if (const auto next = due->OnDue(now)) Schedule(std::move(item->due), *next);
  }
  return Next();
}

}  // namespace activescale::ingest
