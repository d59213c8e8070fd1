#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace activescale::ingest {

/// The bytes of one message, in the pieces in which they came from the network.
using Slices = std::span<const std::string_view>;

/// The wire types of protobuf. Source: https://protobuf.dev/programming-guides/encoding/.
enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kLength = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

/// A field's number and wire type.
struct Tag {
  uint32_t value = 0;

  [[nodiscard]] uint32_t number() const { return value >> 3; }
  [[nodiscard]] WireType type() const { return static_cast<WireType>(value & 7); }
};

/// Depth of nested messages and groups that protobuf's C++ parser accepts.
/// Source: protocolbuffers/protobuf:src/google/protobuf/io/coded_stream.cc.
inline constexpr int kMaxDepth = 100;

/// A position in a range of wire-format bytes that may lie in several slices. It copies nothing;
/// its own copies are cheap and independent. Reads return false on malformed or truncated bytes,
/// by the rules of protobuf's C++ parser (protocolbuffers/protobuf:src/google/protobuf/
/// parse_context.h, v3.21); the position is then of no use. Never reads outside its range.
/// Valid while the slices and the array that lists them are.
class WireCursor {
 public:
  WireCursor() = default;
  explicit WireCursor(Slices slices) : next_(slices.data()) {
    for (const std::string_view slice : slices) after_ += slice.size();
    Refill();
  }

  [[nodiscard]] bool AtEnd() const { return p_ == end_; }
  [[nodiscard]] uint64_t remaining() const { return contiguous() + after_; }

  /// A tag whose field number is not 0. At most five bytes, of which 32 bits count.
  [[nodiscard]] bool ReadTag(Tag* tag) {
    if (p_ != end_ && *p_ < 0x80) {
      tag->value = *p_;
      Advance(1);
      return tag->number() != 0;
    }
    uint64_t value = 0;
    if (!ReadVarintOf(5, &value)) return false;
    tag->value = static_cast<uint32_t>(value);
    return tag->number() != 0;
  }

  /// At most ten bytes, of which 64 bits count.
  [[nodiscard]] bool ReadVarint(uint64_t* value) {
    if (p_ != end_ && *p_ < 0x80) {
      *value = *p_;
      Advance(1);
      return true;
    }
    return ReadVarintOf(10, value);
  }

  [[nodiscard]] bool ReadFixed64(uint64_t* value);
  [[nodiscard]] bool ReadDouble(double* value) {
    uint64_t bits = 0;
    if (!ReadFixed64(&bits)) return false;
    *value = std::bit_cast<double>(bits);
    return true;
  }

  /// A length and that many bytes, which `*payload` then walks; this cursor goes behind them.
  [[nodiscard]] bool ReadPayload(WireCursor* payload) {
    uint64_t length = 0;
    if (!ReadLength(&length)) return false;
    if (length < contiguous()) {  // the common case: all in this slice, and something behind it
      payload->p_ = p_;
      payload->end_ = p_ + length;
      payload->after_ = 0;
      p_ += length;
      return true;
    }
    *payload = *this;
    payload->Truncate(length);
    SkipBytes(length);
    return true;
  }

  /// Passes one field whose tag was just read, groups with all that is in them. `depth` is how many
  /// more levels are allowed.
  [[nodiscard]] bool SkipField(Tag tag, int depth);

  /// The rest of the range if it lies in one slice; nothing otherwise. An empty rest is "".
  [[nodiscard]] bool Contiguous(std::string_view* bytes) const {
    if (after_ != 0) return false;
    *bytes = {reinterpret_cast<const char*>(p_), contiguous()};
    return true;
  }

  /// What of the rest lies in this slice; "" only at the end.
  [[nodiscard]] std::string_view Chunk() const {
    return {reinterpret_cast<const char*>(p_), contiguous()};
  }
  /// Passes `count` bytes of Chunk.
  void SkipInChunk(size_t count) { Advance(count); }

  /// The next contiguous piece, from which the cursor goes on; "" at the end.
  [[nodiscard]] std::string_view TakeChunk() {
    const std::string_view chunk(reinterpret_cast<const char*>(p_), contiguous());
    p_ = end_;
    Refill();
    return chunk;
  }

  /// A copy of the rest of the range.
  [[nodiscard]] std::string ToString() const;
  /// The first byte of the rest, which must not be empty.
  [[nodiscard]] char front() const { return static_cast<char>(*p_); }

 private:
  [[nodiscard]] size_t contiguous() const { return static_cast<size_t>(end_ - p_); }

  /// Goes to the next slice that has bytes; to be called whenever p_ may have reached end_, so
  /// that p_ == end_ says that the range is at its end.
  void Refill() {
    while (p_ == end_ && after_ > 0) {
      const size_t size = std::min<uint64_t>(next_->size(), after_);
      p_ = reinterpret_cast<const uint8_t*>(next_->data());
      end_ = p_ + size;
      after_ -= size;
      ++next_;
    }
  }
  void Advance(size_t count) {
    p_ += count;
    if (p_ == end_) Refill();
  }
  void Truncate(uint64_t length) {
    if (length <= contiguous()) {
      end_ = p_ + length;
      after_ = 0;
    } else {
      after_ = length - contiguous();
    }
  }
  void SkipBytes(uint64_t count);
  [[nodiscard]] bool ReadVarintOf(int max_bytes, uint64_t* value);
  /// A length that the rest of the range can hold.
  [[nodiscard]] bool ReadLength(uint64_t* length) {
    if (p_ != end_ && *p_ < 0x80) {
      *length = *p_;
      Advance(1);
      return *length <= remaining();
    }
    return ReadLongLength(length);
  }
  [[nodiscard]] bool ReadLongLength(uint64_t* length);

  const uint8_t* p_ = nullptr;
  const uint8_t* end_ = nullptr;            // of what is contiguous here and in the range
  const std::string_view* next_ = nullptr;  // the slice behind end_
  uint64_t after_ = 0;                      // bytes of the range from *next_ on
};

/// Whether the bytes are UTF-8 as protobuf demands it of proto3 strings: shortest forms, no
/// surrogates, at most U+10FFFF.
[[nodiscard]] bool IsUtf8(WireCursor bytes);

}  // namespace activescale::ingest
