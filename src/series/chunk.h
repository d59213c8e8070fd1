#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "series/sample.h"

namespace activescale::series {

/// How a chunk writes numbers, for it and its reader.
namespace internal {

/// Classes of a number's size, each with its own prefix of ones and a zero (the last has no zero).
struct SizeClass {
  uint64_t prefix;
  int prefix_bits;
  int value_bits;
};

/// Changes of the distance between timestamps, in milliseconds. The small class is for the jitter
/// of a flush or a scrape, the last one for anything.
inline constexpr SizeClass kDistanceClasses[] = {
    {0b10, 2, 5}, {0b110, 3, 8}, {0b1110, 4, 12}, {0b11110, 5, 20}, {0b11111, 5, 64}};

inline constexpr int kSmallStepBits = 4;
inline constexpr int kStepBits = 9;

inline int64_t SignExtend(uint64_t value, int bits) {
  if (bits == 64) return static_cast<int64_t>(value);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  return static_cast<int64_t>((value ^ sign) - sign);
}

}  // namespace internal

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
  [[nodiscard]] bool Next(Sample& sample) {
    if (done_ == chunk_.count_) return false;
    if (done_ == 0 || !NextShort()) NextLong();
    ++done_;
    sample = current_;
    return true;
  }

 private:
  [[nodiscard]] uint64_t Peek() const;
  [[nodiscard]] bool NextShort();
  void NextLong();
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

/// The next 56 bits and more, first the next one; zeros beyond the chunk's end.
inline uint64_t ChunkReader::Peek() const {
  const size_t byte_at = at_ / 8;
  const size_t left = chunk_.bits_.size() - byte_at;
  uint64_t word = 0;
  // A copy of fixed length where there are eight bytes: that is one instruction.
  if (left >= sizeof(word)) {
    std::memcpy(&word, chunk_.bits_.data() + byte_at, sizeof(word));
  } else {
    std::memcpy(&word, chunk_.bits_.data() + byte_at, left);
  }
  if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
  return word << (at_ % 8);
}

/// Reads a sample that is a small change of the one before, as nearly all are: its codes fit into
/// one word. False, with nothing taken, if it is another.
inline bool ChunkReader::NextShort() {
  constexpr int kLongTime = 5;
  constexpr int kChangedBits = 3;
  uint64_t word = Peek();
  // A code begins with as many ones as its class has in its row, and a zero.
  const int time_ones = std::countl_one(word);
  if (time_ones >= kLongTime) return false;
  int used = time_ones + 1;
  int64_t change = 0;
  if (time_ones > 0) {
    const int bits = internal::kDistanceClasses[time_ones - 1].value_bits;
    change = internal::SignExtend((word << used) >> (64 - bits), bits);
    used += bits;
  }
  word <<= used;
  const int value_ones = std::countl_one(word);
  if (value_ones >= kChangedBits) return false;
  used += value_ones + 1;
  if (value_ones > 0) {
    const int bits = value_ones == 1 ? internal::kSmallStepBits : internal::kStepBits;
    const int64_t step = internal::SignExtend((word << (value_ones + 1)) >> (64 - bits), bits);
    current_.value = static_cast<double>(static_cast<int64_t>(current_.value) + step);
    used += bits;
  }
  const auto distance = static_cast<uint64_t>(distance_ms_) + static_cast<uint64_t>(change);
  distance_ms_ = static_cast<int64_t>(distance);
  current_.time_ms = static_cast<int64_t>(static_cast<uint64_t>(current_.time_ms) + distance);
  at_ += static_cast<size_t>(used);
  return true;
}

}  // namespace activescale::series
