#include "series/chunk.h"

#include <algorithm>
#include <cmath>

namespace activescale::series {

using internal::kDistanceClasses;
using internal::kSmallStepBits;
using internal::kStepBits;
using internal::SignExtend;
using internal::SizeClass;

namespace {

/// Beyond this, whole doubles are no longer one apart and a step may not be exact.
constexpr double kLargestWhole = 9007199254740992.0;

/// Whether `value` lies in the signed range of `bits`, counted without zero: zero has its own code.
bool Fits(int64_t value, int bits) {
  const int64_t half = int64_t{1} << (bits - 1);
  return value >= -half && value < half;
}

bool IsWhole(double value) { return std::abs(value) < kLargestWhole && std::trunc(value) == value; }

}  // namespace

void Chunk::Append(Sample sample) {
  if (count_ == 0) {
    first_ms_ = sample.time_ms;
    PutBits(static_cast<uint64_t>(sample.time_ms), 64);
    PutBits(std::bit_cast<uint64_t>(sample.value), 64);
  } else {
    PutTime(sample.time_ms);
    PutValue(sample.value);
  }
  last_ = sample;
  ++count_;
}

void Chunk::PutBits(uint64_t value, int count) {
  while (count > 0) {
    if (free_bits_ == 0) {
      bits_.push_back(0);
      free_bits_ = 8;
    }
    const int taken = std::min(count, free_bits_);
    const uint64_t part = (value >> (count - taken)) & ((uint64_t{1} << taken) - 1);
    bits_.back() = static_cast<uint8_t>(bits_.back() | (part << (free_bits_ - taken)));
    free_bits_ -= taken;
    count -= taken;
  }
}

void Chunk::PutTime(int64_t time_ms) {
  // Unsigned, because a hostile pair of timestamps may be further apart than an int64_t holds; the
  // reader wraps the same way.
  const uint64_t distance = static_cast<uint64_t>(time_ms) - static_cast<uint64_t>(last_.time_ms);
  const auto change = static_cast<int64_t>(distance - static_cast<uint64_t>(distance_ms_));
  distance_ms_ = static_cast<int64_t>(distance);
  if (change == 0) {
    PutBits(0, 1);
    return;
  }
  for (const SizeClass& size : kDistanceClasses) {
    if (size.value_bits < 64 && !Fits(change, size.value_bits)) continue;
    PutBits(size.prefix, size.prefix_bits);
    PutBits(static_cast<uint64_t>(change), size.value_bits);
    return;
  }
}

void Chunk::PutValue(double value) {
  const uint64_t changed = std::bit_cast<uint64_t>(value) ^ std::bit_cast<uint64_t>(last_.value);
  if (changed == 0) {
    PutBits(0, 1);
    return;
  }
  // -0 is whole, but a step of whole numbers gives +0.
  if (IsWhole(value) && IsWhole(last_.value) && !(value == 0 && std::signbit(value))) {
    const auto step = static_cast<int64_t>(value) - static_cast<int64_t>(last_.value);
    if (Fits(step, kSmallStepBits) || Fits(step, kStepBits)) {
      const bool small = Fits(step, kSmallStepBits);
      PutBits(small ? 0b10 : 0b110, small ? 2 : 3);
      PutBits(static_cast<uint64_t>(step), small ? kSmallStepBits : kStepBits);
      return;
    }
  }
  PutChangedBits(changed);
}

void Chunk::PutChangedBits(uint64_t changed) {
  const int leading = std::min(std::countl_zero(changed), 31);
  const int trailing = std::countr_zero(changed);
  const int window_end = 64 - leading_zeros_ - window_bits_;
  if (leading_zeros_ >= 0 && leading >= leading_zeros_ && trailing >= window_end) {
    PutBits(0b1110, 4);
    PutBits(changed >> window_end, window_bits_);
    return;
  }
  leading_zeros_ = leading;
  window_bits_ = 64 - leading - trailing;
  PutBits(0b1111, 4);
  PutBits(static_cast<uint64_t>(leading), 5);
  PutBits(static_cast<uint64_t>(window_bits_ - 1), 6);
  PutBits(changed >> trailing, window_bits_);
}

uint64_t ChunkReader::TakeBits(int count) {
  constexpr int kWidest = 56;
  if (count > kWidest) {
    const uint64_t high = TakeBits(count - kWidest);
    return (high << kWidest) | TakeBits(kWidest);
  }
  const uint64_t bits = Peek() >> (64 - count);
  at_ += static_cast<size_t>(count);
  return bits;
}

int64_t ChunkReader::TakeDistanceChange() {
  if (!TakeBit()) return 0;
  for (const SizeClass& size : kDistanceClasses) {
    if (size.value_bits == 64 || !TakeBit()) {
      return SignExtend(TakeBits(size.value_bits), size.value_bits);
    }
  }
  return 0;
}

void ChunkReader::TakeValue() {
  if (!TakeBit()) return;
  for (const int bits : {kSmallStepBits, kStepBits}) {
    if (TakeBit()) continue;
    const int64_t step = SignExtend(TakeBits(bits), bits);
    current_.value = static_cast<double>(static_cast<int64_t>(current_.value) + step);
    return;
  }
  if (TakeBit()) {
    leading_zeros_ = static_cast<int>(TakeBits(5));
    window_bits_ = static_cast<int>(TakeBits(6)) + 1;
  }
  const uint64_t changed = TakeBits(window_bits_) << (64 - leading_zeros_ - window_bits_);
  current_.value = std::bit_cast<double>(std::bit_cast<uint64_t>(current_.value) ^ changed);
}

void ChunkReader::NextLong() {
  if (done_ == 0) {
    current_.time_ms = static_cast<int64_t>(TakeBits(64));
    current_.value = std::bit_cast<double>(TakeBits(64));
    return;
  }
  const auto distance =
      static_cast<uint64_t>(distance_ms_) + static_cast<uint64_t>(TakeDistanceChange());
  distance_ms_ = static_cast<int64_t>(distance);
  current_.time_ms = static_cast<int64_t>(static_cast<uint64_t>(current_.time_ms) + distance);
  TakeValue();
}

}  // namespace activescale::series
