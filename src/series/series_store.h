#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "series/label_index.h"
#include "series/lease_table.h"
#include "series/metadata_book.h"
#include "series/series_source.h"

namespace activescale::series {

/// What became of a sample; all but kStored are refusals.
enum class AppendOutcome : uint8_t {
  kStored,
  kNotWanted,   // no lease and no kept selector asks for the series
  kOutOfOrder,  // earlier than the series' newest sample
  kDuplicate,   // the series has a sample of this time
  kFull,        // the memory limit is reached by kept selectors alone
};
inline constexpr size_t kAppendOutcomes = 5;

struct SeriesStoreOptions {
  /// Memory of all series together. Above it the oldest lease is dropped.
  size_t max_bytes = size_t{64} << 20;
  /// How long a selector is recorded after its last use.
  std::chrono::milliseconds lease{std::chrono::minutes(10)};
  /// Different selectors recorded at the same time. Above it the oldest lease is dropped.
  size_t max_leases = 4096;
};

struct SeriesStoreStats {
  std::array<uint64_t, kAppendOutcomes> samples_by_outcome{};
  uint64_t leases_dropped_for_memory = 0;
  uint64_t leases_expired = 0;
  size_t leases = 0;  // kept selectors included
  size_t series = 0;
  size_t bytes = 0;
};

/// The recent past, in memory, of what somebody asks for. Asking (`Select`) takes out a lease on
/// the selector for as long a window as was asked; from then on its samples are recorded, until
/// nobody has asked for `lease`. Kept selectors are recorded for ever. Threads: any. One lock for
/// the index, never held while samples are read.
class SeriesStore final : public SeriesSource {
 public:
  SeriesStore(const SeriesStoreOptions& options, const base::Clock& clock)
      : options_(options), clock_(clock) {}

  /// Records what `matchers` select from now on, at least the last `retention` of it. `since_ms`:
  /// what was recorded from then on until now is about to be appended.
  void Keep(const Matchers& matchers, std::chrono::milliseconds retention,
            int64_t since_ms = kMaxTime) EXCLUDES(mutex_);

  /// The series that are kept, in no order.
  [[nodiscard]] std::vector<std::shared_ptr<const Series>> Kept() const EXCLUDES(mutex_);

  /// Another number each time a selector comes or goes; 0 while there is none, so that nothing at
  /// all is recorded. Takes no lock.
  [[nodiscard]] uint64_t selectors_version() const {
    return selectors_version_.load(std::memory_order_relaxed);
  }

  /// Whether a sample of this series would be stored; to skip work that makes samples. Holds until
  /// selectors_version changes.
  [[nodiscard]] bool Wants(const metric::Labels& labels) const EXCLUDES(mutex_);

  /// A label with the value "" is the same as no label and must not be in `labels`.
  AppendOutcome Append(const metric::Labels& labels, Sample sample) EXCLUDES(mutex_);

  /// Says that a series has ended at `time_ms`: instant selectors no longer find it. Nothing
  /// happens to a series that is not recorded.
  void MarkStale(const metric::Labels& labels, int64_t time_ms) EXCLUDES(mutex_);

  /// Renews the selector's lease, or takes it out with a window from `min_ms` to now. Never fails:
  /// what is not recorded yet shows in observed_since_ms.
  [[nodiscard]] base::Result<Selection> Select(const Matchers& matchers, int64_t min_ms,
                                               int64_t max_ms) override EXCLUDES(mutex_);

  /// A selector that is recorded, and how far back.
  struct Asked {
    Matchers matchers;
    std::chrono::milliseconds window{};
  };
  /// What Select was asked since the last call, for other replicas to Record it too: each selector
  /// when it is new, when its window grew, and once in kRepeatInterval of its use.
  [[nodiscard]] std::vector<Asked> TakeAsked() EXCLUDES(mutex_);
  static constexpr std::chrono::seconds kRepeatInterval{60};

  /// Renews or takes out the lease of a selector that another replica was asked.
  void Record(const Asked& asked) EXCLUDES(mutex_);

  /// The series that match, or all for no matchers, without a lease: to look around.
  [[nodiscard]] std::vector<std::shared_ptr<const Series>> Find(const Matchers& matchers) const
      EXCLUDES(mutex_);

  /// What is told of the metrics besides samples, asked for or not.
  [[nodiscard]] MetadataBook& metadata() { return metadata_; }
  [[nodiscard]] const MetadataBook& metadata() const { return metadata_; }

  /// Lets leases expire, forgets samples that no lease's window reaches, and series without any.
  /// To be called every few seconds.
  void Maintain() EXCLUDES(mutex_);

  [[nodiscard]] SeriesStoreStats stats() const EXCLUDES(mutex_);

 private:
  /// `window_ms` is what is needed, `recorded_ms` what is recorded if that is not.
  Lease& Renew(const Matchers& matchers, int64_t window_ms, int64_t recorded_ms, int64_t now_ms)
      REQUIRES(mutex_);
  [[nodiscard]] int64_t CoveredSince(const Lease& fresh, int64_t now_ms) const REQUIRES(mutex_);
  [[nodiscard]] bool MakeRoom() REQUIRES(mutex_);
  [[nodiscard]] bool DropOldestLease() REQUIRES(mutex_);
  void Sweep(int64_t now_ms) REQUIRES(mutex_);
  void NoteSelectors() REQUIRES(mutex_);

  const SeriesStoreOptions options_;
  const base::Clock& clock_;
  mutable base::Mutex mutex_;
  LabelIndex index_ GUARDED_BY(mutex_);
  LeaseTable leases_ GUARDED_BY(mutex_);
  SeriesStoreStats stats_ GUARDED_BY(mutex_);
  int64_t found_full_ms_ GUARDED_BY(mutex_) = kMinTime;
  uint64_t selectors_changes_ GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> selectors_version_{0};
  MetadataBook metadata_;
};

}  // namespace activescale::series
