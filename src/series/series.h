#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "metric/labels.h"
#include "series/chunk.h"
#include "series/sample.h"

namespace activescale::series {

/// One time series: labels that never change and samples in order of time.
/// Threads: any. One lock, held while a sample is added or a range is read.
class Series {
 public:
  enum class AppendResult : uint8_t { kOk, kOutOfOrder, kDuplicate };
  struct Appended {
    AppendResult result = AppendResult::kOk;
    size_t grown_bytes = 0;
  };

  explicit Series(metric::Labels labels)
      : labels_(std::make_shared<const metric::Labels>(std::move(labels))) {}

  [[nodiscard]] const metric::Labels& labels() const { return *labels_; }
  /// For results that outlive the series.
  [[nodiscard]] const std::shared_ptr<const metric::Labels>& shared_labels() const {
    return labels_;
  }

  /// kOutOfOrder: earlier than the newest sample. kDuplicate: the same time, whatever the value.
  [[nodiscard]] Appended Append(Sample sample) EXCLUDES(mutex_);

  /// Hands each sample with min_ms <= time <= max_ms to `sink`, stale markers too, in order and
  /// without a copy in between. `sink` runs under the series' lock and must not touch the series.
  template <typename Sink>
  void ForEach(int64_t min_ms, int64_t max_ms, Sink&& sink) const EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    for (const Chunk& chunk : chunks_) {
      if (chunk.last_ms() < min_ms) continue;
      if (chunk.first_ms() > max_ms) return;
      ChunkReader reader(chunk);
      for (Sample sample; reader.Next(sample) && sample.time_ms <= max_ms;) {
        if (sample.time_ms >= min_ms) sink(sample);
      }
    }
  }

  /// Forgets whole chunks whose last sample is before `before_ms`; the newest chunk stays.
  void DropBefore(int64_t before_ms) EXCLUDES(mutex_);

  /// Time of the oldest and the newest sample; kMaxTime and kMinTime when there is none.
  [[nodiscard]] int64_t first_ms() const EXCLUDES(mutex_);
  [[nodiscard]] int64_t last_ms() const EXCLUDES(mutex_);
  [[nodiscard]] size_t sample_count() const EXCLUDES(mutex_);
  /// Memory held: chunks, labels and this object.
  [[nodiscard]] size_t bytes() const EXCLUDES(mutex_);
  /// Length of all compressed samples alone.
  [[nodiscard]] size_t encoded_bytes() const EXCLUDES(mutex_);

 private:
  const std::shared_ptr<const metric::Labels> labels_;
  mutable base::Mutex mutex_;
  std::vector<Chunk> chunks_ GUARDED_BY(mutex_);
};

}  // namespace activescale::series
