#include "series/series.h"

#include <algorithm>

namespace activescale::series {
namespace {

/// Ten minutes at one flush in 5 s: a two-minute window reads one or two chunks, and the first
/// sample's 16 bytes are spread over enough others.
constexpr size_t kSamplesPerChunk = 120;

}  // namespace

Series::Appended Series::Append(Sample sample) {
  const base::MutexLock lock(mutex_);
  size_t before = 0;
  if (!chunks_.empty()) {
    const int64_t last = chunks_.back().last_ms();
    if (sample.time_ms == last) return {AppendResult::kDuplicate, 0};
    if (sample.time_ms < last) return {AppendResult::kOutOfOrder, 0};
    before = chunks_.back().bytes();
  }
  if (chunks_.empty() || chunks_.back().size() == kSamplesPerChunk) {
    if (!chunks_.empty()) chunks_.back().Seal();
    chunks_.emplace_back();
    before = 0;
  }
  chunks_.back().Append(sample);
  return {AppendResult::kOk, chunks_.back().bytes() - before};
}

void Series::DropBefore(int64_t before_ms) {
  const base::MutexLock lock(mutex_);
  if (chunks_.empty()) return;
  const auto keep = std::find_if(chunks_.begin(), chunks_.end() - 1,
                                 [&](const Chunk& chunk) { return chunk.last_ms() >= before_ms; });
  chunks_.erase(chunks_.begin(), keep);
}

int64_t Series::first_ms() const {
  const base::MutexLock lock(mutex_);
  return chunks_.empty() ? kMaxTime : chunks_.front().first_ms();
}

int64_t Series::last_ms() const {
  const base::MutexLock lock(mutex_);
  return chunks_.empty() ? kMinTime : chunks_.back().last_ms();
}

size_t Series::sample_count() const {
  const base::MutexLock lock(mutex_);
  size_t count = 0;
  for (const Chunk& chunk : chunks_) count += chunk.size();
  return count;
}

size_t Series::bytes() const {
  const base::MutexLock lock(mutex_);
  size_t bytes = sizeof(*this) + sizeof(metric::Labels);
  for (const auto& [key, value] : labels_->entries()) {
    bytes += sizeof(metric::Labels::Entry) + key.size() + value.size();
  }
  for (const Chunk& chunk : chunks_) bytes += chunk.bytes();
  return bytes;
}

size_t Series::encoded_bytes() const {
  const base::MutexLock lock(mutex_);
  size_t bytes = 0;
  for (const Chunk& chunk : chunks_) bytes += chunk.encoded_bytes();
  return bytes;
}

}  // namespace activescale::series
