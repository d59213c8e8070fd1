#include "series/series_store.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/unix_time.h"

namespace activescale::series {
namespace {

/// Instant selectors look back this far, so a series is kept this long after its last sample.
constexpr int64_t kLookbackMs = 5 * 60 * 1000;
/// After a drop for memory this share of the limit is free again, so that drops come in bursts
/// rather than with each sample.
constexpr size_t kFreeShare = 10;
constexpr int64_t kFullForMs = 1000;

std::vector<std::string> Terms(const Matchers& matchers) {
  std::vector<std::string> terms;
  for (const Matcher& matcher : matchers) terms.push_back(matcher.ToString());
  std::ranges::sort(terms);
  terms.erase(std::ranges::unique(terms).begin(), terms.end());
  return terms;
}

/// A window as it is recorded: longer than asked for, because the next query of the same range may
/// begin a little earlier, seen from its own now.
int64_t Generous(int64_t window_ms) {
  constexpr int64_t kMinute = 60'000;
  return (window_ms / kMinute + 2) * kMinute;
}

}  // namespace

/// A selector with fewer conditions selects all that one with more of them does, so its lease has
/// recorded the same series.
int64_t SeriesStore::CoveredSince(const Lease& fresh, int64_t now_ms) const {
  int64_t since = now_ms;
  leases_.ForEach([&](const Lease& lease) {
    if (!std::ranges::includes(fresh.terms, lease.terms)) return;
    since = std::min(since, std::max(lease.since_ms, now_ms - lease.window_ms));
  });
  return since;
}

Lease& SeriesStore::Renew(const Matchers& matchers, int64_t window_ms, int64_t recorded_ms,
                          int64_t now_ms) {
  std::vector<std::string> terms = Terms(matchers);
  if (Lease* const lease = leases_.Find(terms, matchers)) {
    if (window_ms > lease->window_ms) {
      // What was older than the former window may be forgotten already.
      lease->since_ms = std::max(lease->since_ms, now_ms - lease->window_ms);
      lease->window_ms = recorded_ms;
    }
    lease->used_ms = now_ms;
    return *lease;
  }
  while (leases_.size() >= options_.max_leases && DropOldestLease()) Sweep(now_ms);
  Lease lease{.matchers = matchers,
              .terms = std::move(terms),
              .window_ms = recorded_ms,
              .since_ms = now_ms,
              .used_ms = now_ms,
              .kept = false};
  lease.since_ms = CoveredSince(lease, now_ms);
  Lease& inserted = leases_.Insert(std::move(lease));
  NoteSelectors();
  return inserted;
}

void SeriesStore::NoteSelectors() {
  const uint64_t version = leases_.size() == 0 ? 0 : ++selectors_changes_;
  selectors_version_.store(version, std::memory_order_relaxed);
}

void SeriesStore::Keep(const Matchers& matchers, std::chrono::milliseconds retention,
                       int64_t since_ms) {
  const base::MutexLock lock(mutex_);
  Lease& lease =
      Renew(matchers, retention.count(), Generous(retention.count()), base::UnixMsNow(clock_));
  lease.kept = true;
  lease.since_ms = std::min(lease.since_ms, since_ms);
}

std::vector<std::shared_ptr<const Series>> SeriesStore::Kept() const {
  const base::MutexLock lock(mutex_);
  std::vector<const Matchers*> selectors;
  leases_.ForEach([&](const Lease& lease) {
    if (lease.kept) selectors.push_back(&lease.matchers);
  });
  std::unordered_set<std::shared_ptr<const Series>> kept;
  for (const Matchers* const selector : selectors) {
    for (std::shared_ptr<Series>& series : index_.Select(*selector)) {
      kept.insert(std::move(series));
    }
  }
  return {kept.begin(), kept.end()};
}

bool SeriesStore::Wants(const metric::Labels& labels) const {
  const base::MutexLock lock(mutex_);
  return index_.Find(labels) != nullptr || leases_.AnyMatches(labels);
}

AppendOutcome SeriesStore::Append(const metric::Labels& labels, Sample sample) {
  const base::MutexLock lock(mutex_);
  const auto counted = [this](AppendOutcome outcome) REQUIRES(mutex_) {
    ++stats_.samples_by_outcome[static_cast<size_t>(outcome)];
    return outcome;
  };
  std::shared_ptr<Series> series = index_.Find(labels);
  if (series == nullptr && !leases_.AnyMatches(labels)) return counted(AppendOutcome::kNotWanted);
  if (stats_.bytes >= options_.max_bytes) {
    if (!MakeRoom()) return counted(AppendOutcome::kFull);
    // Room may have been made of this very series.
    series = index_.Find(labels);
    if (series == nullptr && !leases_.AnyMatches(labels)) return counted(AppendOutcome::kNotWanted);
  }
  if (series == nullptr) {
    series = index_.Add(labels);
    stats_.bytes += series->bytes();
  }
  const Series::Appended appended = series->Append(sample);
  stats_.bytes += appended.grown_bytes;
  switch (appended.result) {
    case Series::AppendResult::kOutOfOrder:
      return counted(AppendOutcome::kOutOfOrder);
    case Series::AppendResult::kDuplicate:
      return counted(AppendOutcome::kDuplicate);
    case Series::AppendResult::kOk:
      break;
  }
  return counted(AppendOutcome::kStored);
}

void SeriesStore::MarkStale(const metric::Labels& labels, int64_t time_ms) {
  const base::MutexLock lock(mutex_);
  const std::shared_ptr<Series> series = index_.Find(labels);
  if (series != nullptr) stats_.bytes += series->Append({time_ms, StaleMarker()}).grown_bytes;
}

base::Result<Selection> SeriesStore::Select(const Matchers& matchers, int64_t min_ms,
                                            int64_t /*max_ms*/) {
  const base::MutexLock lock(mutex_);
  const int64_t now_ms = base::UnixMsNow(clock_);
  const int64_t window_ms = min_ms >= now_ms ? 0 : now_ms - std::max<int64_t>(min_ms, 0);
  Selection selection;
  Lease& lease = Renew(matchers, window_ms, Generous(window_ms), now_ms);
  lease.asked_ms = now_ms;
  selection.observed_since_ms = lease.since_ms;
  auto found = index_.Select(matchers);
  selection.series.assign(std::move_iterator(found.begin()), std::move_iterator(found.end()));
  return selection;
}

std::vector<SeriesStore::Asked> SeriesStore::TakeAsked() {
  const base::MutexLock lock(mutex_);
  const int64_t now_ms = base::UnixMsNow(clock_);
  const int64_t repeat_ms = std::chrono::milliseconds(kRepeatInterval).count();
  std::vector<Asked> asked;
  leases_.ForEach([&](Lease& lease) {
    if (lease.asked_ms == kMinTime) return;
    const bool due = lease.told_ms == kMinTime || lease.window_ms > lease.told_window_ms ||
                     (lease.asked_ms > lease.told_ms && now_ms - lease.told_ms >= repeat_ms);
    if (!due) return;
    lease.told_ms = now_ms;
    lease.told_window_ms = lease.window_ms;
    asked.push_back({lease.matchers, std::chrono::milliseconds(lease.window_ms)});
  });
  return asked;
}

void SeriesStore::Record(const Asked& asked) {
  const base::MutexLock lock(mutex_);
  Renew(asked.matchers, asked.window.count(), asked.window.count(), base::UnixMsNow(clock_));
}

std::vector<std::shared_ptr<const Series>> SeriesStore::Find(const Matchers& matchers) const {
  const base::MutexLock lock(mutex_);
  const auto found = matchers.empty() ? index_.All() : index_.Select(matchers);
  return {found.begin(), found.end()};
}

bool SeriesStore::DropOldestLease() {
  if (!leases_.EraseOldest()) return false;
  ++stats_.leases_dropped_for_memory;
  NoteSelectors();
  return true;
}

bool SeriesStore::MakeRoom() {
  const int64_t now_ms = base::UnixMsNow(clock_);
  // Looking for room costs a walk over everything, which a flood of refusals must not repeat.
  if (found_full_ms_ != kMinTime && now_ms - found_full_ms_ < kFullForMs) return false;
  Sweep(now_ms);
  while (stats_.bytes > options_.max_bytes - options_.max_bytes / kFreeShare && DropOldestLease()) {
    Sweep(now_ms);
  }
  found_full_ms_ = stats_.bytes < options_.max_bytes ? kMinTime : now_ms;
  return found_full_ms_ == kMinTime;
}

void SeriesStore::Sweep(int64_t now_ms) {
  std::unordered_map<const Series*, int64_t> windows;
  std::vector<const Lease*> leases;
  leases_.ForEach([&leases](const Lease& lease) { leases.push_back(&lease); });
  for (const Lease* lease : leases) {
    for (const std::shared_ptr<Series>& series : index_.Select(lease->matchers)) {
      int64_t& window = windows[series.get()];
      window = std::max(window, lease->window_ms);
    }
  }
  size_t bytes = 0;
  for (const std::shared_ptr<Series>& series : index_.All()) {
    const auto window = windows.find(series.get());
    const int64_t before = window == windows.end() ? kMaxTime : now_ms - window->second;
    if (window == windows.end() || series->last_ms() < before - kLookbackMs) {
      index_.Remove(*series);
      continue;
    }
    series->DropBefore(before);
    bytes += series->bytes();
  }
  stats_.bytes = bytes;
}

void SeriesStore::Maintain() {
  const base::MutexLock lock(mutex_);
  const int64_t now_ms = base::UnixMsNow(clock_);
  const size_t expired = leases_.EraseIf([&](const Lease& lease) {
    return !lease.kept && now_ms - lease.used_ms > options_.lease.count();
  });
  stats_.leases_expired += expired;
  if (expired > 0) NoteSelectors();
  Sweep(now_ms);
}

SeriesStoreStats SeriesStore::stats() const {
  const base::MutexLock lock(mutex_);
  SeriesStoreStats stats = stats_;
  stats.leases = leases_.size();
  stats.series = index_.size();
  return stats;
}

}  // namespace activescale::series
