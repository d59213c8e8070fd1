#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

struct redisReader;  // hiredis  NOLINT(readability-identifier-naming)

namespace activescale::redis {

/// A server's answer in RESP2.
struct Reply {
  enum class Type : uint8_t { kNil, kInteger, kString, kStatus, kError, kArray };
  Type type = Type::kNil;
  int64_t integer = 0;
  std::string text;  // of kString, kStatus and kError
  std::vector<Reply> elements;

  [[nodiscard]] bool IsError() const { return type == Type::kError; }
  [[nodiscard]] bool IsText() const { return type == Type::kString || type == Type::kStatus; }
};

/// Cuts a byte stream into replies. After an error it stays in error: the stream cannot be trusted
/// any more. Bounds what a peer can make it keep: 64 MiB of one reply, 400,000 elements.
/// Threads: one.
class ReplyReader {
 public:
  ReplyReader();
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  /// Errors: kInternal if the bound on unread bytes is hit.
  [[nodiscard]] base::Result<void> Feed(std::string_view bytes);
  /// The next whole reply; nothing if more bytes are needed.
  /// Errors: kInternal if the bytes are not RESP2, with what is wrong.
  [[nodiscard]] base::Result<std::optional<Reply>> Next();

 private:
  size_t elements_left_ = 0;  // that the reply in hand may still have
  redisReader* reader_;
};

/// Appends one command in RESP to `wire`.
void AppendCommand(std::string& wire, std::span<const std::string_view> args);

/// One command in RESP.
[[nodiscard]] std::string FormatCommand(std::initializer_list<std::string_view> args);

}  // namespace activescale::redis
