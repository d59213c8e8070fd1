#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "series/sample.h"

namespace activescale::series {

/// Samples of one series in order of time, compressed bit by bit: timestamps as the change of their
/// distance, values as a small whole-number step from the one before where that is exact (requests
/// in flight), else as the changed bits. Every double, NaN payloads too, comes back as it went in.
/// Source: "Gorilla: A Fast, Scalable, In-Memory Time Series Database", VLDB 2015, section 4.1; the
/// whole-number steps are our addition.
/// Threads: guarded by the owner.
class Chunk {
 public:
  /// `sample.time_ms` must be later than last_ms(): the series has checked it.
  void Append(Sample sample);

  [[nodiscard]] size_t size() const { return count_; }
  [[nodiscard]] int64_t first_ms() const { return first_ms_; }
  [[nodiscard]] int64_t last_ms() const { return last_.time_ms; }
  /// Memory held, this object included.
  [[nodiscard]] size_t bytes() const { return sizeof(*this) + bits_.capacity(); }
  /// Length of the compressed form alone.
  [[nodiscard]] size_t encoded_bytes() const { return bits_.size(); }
  /// Gives back what the growing buffer holds in reserve; for a chunk that is full.
  void Seal() { bits_.shrink_to_fit(); }

 private:
  friend class ChunkReader;

  void PutBits(uint64_t value, int count);
  void PutTime(int64_t time_ms);
  void PutValue(double value);
  void PutChangedBits(uint64_t changed);

  std::vector<uint8_t> bits_;
  int free_bits_ = 0;  // of the last byte
  size_t count_ = 0;
  int64_t first_ms_ = 0;
  Sample last_;
  int64_t distance_ms_ = 0;
  int leading_zeros_ = -1;  // of the last window of changed bits; -1 before the first
  int window_bits_ = 0;
};

/// Reads a Chunk from its start. The chunk must outlive it and must not grow meanwhile.
class ChunkReader {
 public:
  explicit ChunkReader(const Chunk& chunk) : chunk_(chunk) {}

  /// The next sample into `sample`; false at the end.
  [[nodiscard]] bool Next(Sample& sample);

 private:
  uint64_t TakeBits(int count);
  bool TakeBit() { return TakeBits(1) != 0; }
  int64_t TakeDistanceChange();
  void TakeValue();

  const Chunk& chunk_;
  size_t at_ = 0;  // in bits
  size_t done_ = 0;
  Sample current_;
  int64_t distance_ms_ = 0;
  int leading_zeros_ = 0;
  int window_bits_ = 0;
};

}  // namespace activescale::series
