#include "ingest/wire_cursor.h"

#include <array>
#include <climits>

namespace activescale::ingest {
namespace {

// Protobuf keeps this many bytes behind its buffers and refuses lengths that could overflow an int
// with them. Source: protocolbuffers/protobuf:src/google/protobuf/parse_context.h, kSlopBytes.
constexpr uint64_t kSlopBytes = 16;

/// Checks UTF-8 that comes in pieces.
class Utf8Checker {
 public:
  [[nodiscard]] bool Feed(uint8_t byte) {
    if (pending_ > 0) {
      if (byte < low_ || byte > high_) return false;
      low_ = 0x80;
      high_ = 0xBF;
      --pending_;
      return true;
    }
    return byte < 0x80 || StartSequence(byte);
  }
  [[nodiscard]] bool Complete() const { return pending_ == 0; }

 private:
  /// Table 3-7 of the Unicode Standard: which second bytes may follow a first one.
  [[nodiscard]] bool StartSequence(uint8_t first) {
    low_ = 0x80;
    high_ = 0xBF;
    if (first >= 0xC2 && first <= 0xDF) {
      pending_ = 1;
    } else if (first >= 0xE0 && first <= 0xEF) {
      pending_ = 2;
      if (first == 0xE0) low_ = 0xA0;
      if (first == 0xED) high_ = 0x9F;
    } else if (first >= 0xF0 && first <= 0xF4) {
      pending_ = 3;
      if (first == 0xF0) low_ = 0x90;
      if (first == 0xF4) high_ = 0x8F;
    } else {
      return false;
    }
    return true;
  }

  int pending_ = 0;
  uint8_t low_ = 0x80;
  uint8_t high_ = 0xBF;
};

}  // namespace

bool WireCursor::ReadVarintOf(int max_bytes, uint64_t* value) {
  uint64_t result = 0;
  for (int i = 0; i < max_bytes; ++i) {
    if (p_ == end_) return false;
    const uint8_t byte = *p_;
    Advance(1);
    result |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      *value = result;
      return true;
    }
  }
  return false;
}

bool WireCursor::ReadLongLength(uint64_t* length) {
  return ReadVarintOf(5, length) && *length <= INT_MAX - kSlopBytes && *length <= remaining();
}

bool WireCursor::ReadFixed64(uint64_t* value) {
  static_assert(std::endian::native == std::endian::little, "the wire is little-endian");
  if (remaining() < sizeof(*value)) return false;
  std::array<uint8_t, sizeof(*value)> bytes;
  if (contiguous() >= bytes.size()) {
    std::memcpy(bytes.data(), p_, bytes.size());
    Advance(bytes.size());
  } else {
    for (uint8_t& byte : bytes) {
      byte = *p_;
      Advance(1);
    }
  }
  *value = std::bit_cast<uint64_t>(bytes);
  return true;
}

void WireCursor::SkipBytes(uint64_t count) {
  while (count > 0) {
    const size_t step = std::min<uint64_t>(count, contiguous());
    Advance(step);
    count -= step;
  }
}

bool WireCursor::SkipField(Tag tag, int depth) {
  uint64_t ignored = 0;
  switch (tag.type()) {
    case WireType::kVarint:
      return ReadVarint(&ignored);
    case WireType::kFixed64:
      if (remaining() < 8) return false;
      SkipBytes(8);
      return true;
    case WireType::kFixed32:
      if (remaining() < 4) return false;
      SkipBytes(4);
      return true;
    case WireType::kLength:
      if (!ReadLength(&ignored)) return false;
      SkipBytes(ignored);
      return true;
    case WireType::kStartGroup:
      if (depth <= 0) return false;
      for (Tag inner; !AtEnd();) {
        if (!ReadTag(&inner)) return false;
        if (inner.type() == WireType::kEndGroup) return inner.number() == tag.number();
        if (!SkipField(inner, depth - 1)) return false;
      }
      return false;
    case WireType::kEndGroup:
      return false;
  }
  return false;
}

std::string WireCursor::ToString() const {
  std::string result;
  result.reserve(remaining());
  WireCursor rest = *this;
  while (!rest.AtEnd()) result += rest.TakeChunk();
  return result;
}

bool IsUtf8(WireCursor bytes) {
  Utf8Checker checker;
  while (!bytes.AtEnd()) {
    for (const char c : bytes.TakeChunk()) {
      if (!checker.Feed(static_cast<uint8_t>(c))) return false;
    }
  }
  return checker.Complete();
}

}  // namespace activescale::ingest
