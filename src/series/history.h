#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "series/history_file.h"
#include "series/series_source.h"
#include "series/series_store.h"

namespace activescale::series {

struct HistoryOptions {
  std::string folder;
  std::vector<Matchers> keep;  // what is recorded, for ever
  std::chrono::milliseconds retention{std::chrono::hours(24 * 15)};
  /// How much of it is in memory, too. Longer windows are read from the disk.
  std::chrono::milliseconds in_memory{std::chrono::hours(2)};
};

struct HistoryStats {
  uint64_t samples_written = 0;
  uint64_t failures = 0;
  std::string problem;  // why the disk is not used now; "" if it is
};

/// Keeps selectors of a SeriesStore on disk, so that a restart loses no window and a question may
/// reach back further than memory does. It is the source to ask instead of the store. A disk that
/// is full or broken costs the history, never the present: everything goes on in memory, and the
/// disk is tried again.
/// Threads: Select, stats: any; Restore, then Save: one at a time, and not one that must not wait
/// for a disk.
class History final : public SeriesSource {
 public:
  /// A pause in the recording up to this long, such as a restart, breaks no window.
  static constexpr std::chrono::milliseconds kPause{120'000};
  /// How often to call Save.
  static constexpr std::chrono::milliseconds kSaveInterval{1'000};

  /// `store` must outlive it.
  History(HistoryOptions options, SeriesStore& store, const base::Clock& clock);

  /// Keeps the selectors, and brings back into memory what the disk has of them.
  void Restore();
  /// Writes what is new; forgets what is older than the retention.
  void Save();

  /// Never fails. While the disk does, a window that reaches back further than memory is not whole.
  [[nodiscard]] base::Result<Selection> Select(const Matchers& matchers, int64_t min_ms,
                                               int64_t max_ms) override;
  [[nodiscard]] HistoryStats stats() const;

 private:
  [[nodiscard]] base::Result<std::vector<KeptSelector>> OpenAndListKept();
  [[nodiscard]] base::Result<void> Load(int64_t now_ms);
  [[nodiscard]] base::Result<void> TrySave(base::SteadyTime now);
  [[nodiscard]] std::vector<KeptSelector> KeptAt(int64_t now_ms) EXCLUDES(mutex_);
  void NoteFailure(const base::Error& error) EXCLUDES(mutex_);

  const HistoryOptions options_;
  SeriesStore& store_;
  const base::Clock& clock_;

  // Of the thread that saves.
  std::unique_ptr<HistoryFile> file_;        // null: to be opened
  std::map<std::string, int64_t> saved_ms_;  // newest sample on disk, by the series' labels
  int64_t saved_at_ms_ = 0;
  base::SteadyTime retry_at_ = base::SteadyTime::min();
  base::SteadyTime drop_at_ = base::SteadyTime::min();

  mutable base::Mutex mutex_;
  std::vector<int64_t> since_ms_ GUARDED_BY(mutex_);  // of each of options_.keep
  HistoryStats stats_ GUARDED_BY(mutex_);
};

/// The history of a folder without the process that writes it: for questions afterwards.
/// Threads: any.
class HistorySource final : public SeriesSource {
 public:
  explicit HistorySource(std::string folder) : folder_(std::move(folder)) {}

  /// Errors: kUnavailable: there is no history in the folder, or it cannot be read.
  [[nodiscard]] base::Result<Selection> Select(const Matchers& matchers, int64_t min_ms,
                                               int64_t max_ms) override;

 private:
  const std::string folder_;
};

}  // namespace activescale::series
