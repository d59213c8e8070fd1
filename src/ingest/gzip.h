#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ingest/wire_cursor.h"

namespace activescale::ingest {

/// Bytes that inflated messages hold together, so that compressed floods cannot take more.
class InflateBudget {
 public:
  explicit InflateBudget(size_t max_bytes) : max_bytes_(max_bytes) {}

  [[nodiscard]] bool Take(size_t bytes) {
    if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= max_bytes_) return true;
    Give(bytes);
    return false;
  }
  void Give(size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const size_t max_bytes_;
  std::atomic<size_t> used_{0};
};

/// An inflated message, in blocks that count against a budget while it lives.
class InflatedMessage {
 public:
  explicit InflatedMessage(InflateBudget& budget) : budget_(budget) {}
  ~InflatedMessage();
  InflatedMessage(const InflatedMessage&) = delete;
  InflatedMessage& operator=(const InflatedMessage&) = delete;

  /// Inflates one gzip member, block by block, and stops as soon as it is larger than `max_bytes`.
  /// Errors: kInvalidArgument if the bytes are not gzip; kResourceExhausted if the message or all
  /// messages together are too large.
  [[nodiscard]] base::Result<void> Inflate(Slices compressed, size_t max_bytes);

  [[nodiscard]] Slices slices() const { return slices_; }
  [[nodiscard]] size_t size() const { return size_; }
  /// Memory that the blocks take, also if the message was refused.
  [[nodiscard]] size_t held_bytes() const;

 private:
  [[nodiscard]] base::Result<char*> AddBlock();

  InflateBudget& budget_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::vector<std::string_view> slices_;
  size_t size_ = 0;
};

/// Whether a message's bytes are gzip. No StreamMetricsMessage begins like that: its first byte
/// would be a tag of a wire type that does not exist.
[[nodiscard]] bool IsGzip(Slices message);

}  // namespace activescale::ingest
