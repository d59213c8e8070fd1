#include "redis/resp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace activescale::redis {
namespace {

using testing::HasSubstr;

/// A reply as one line: strings quoted, errors with !, arrays in brackets.
std::string Say(const Reply& reply) {
  using enum Reply::Type;
  switch (reply.type) {
    case kNil:
      return "nil";
    case kInteger:
      return std::to_string(reply.integer);
    case kString:
      return "\"" + reply.text + "\"";
    case kStatus:
      return reply.text;
    case kError:
      return "!" + reply.text;
    case kArray:
      break;
  }
  std::string out = "[";
  for (const Reply& element : reply.elements) {
    if (out.size() > 1) out += " ";
    out += Say(element);
  }
  return out + "]";
}

/// Feeds `wire` in pieces of `piece` bytes, each a heap block of its own exact size.
std::string ReadInPieces(std::string_view wire, size_t piece) {
  ReplyReader reader;
  std::string out;
  while (!wire.empty()) {
    const size_t size = std::min(piece, wire.size());
    const auto block = std::make_unique<char[]>(size);
    std::memcpy(block.get(), wire.data(), size);
    wire.remove_prefix(size);
    EXPECT_TRUE(reader.Feed(std::string_view(block.get(), size)));
    for (;;) {
      auto next = reader.Next();
      if (!next) return out + "<" + next.error().message + ">";
      if (!*next) break;
      out += Say(**next) + ";";
    }
  }
  return out;
}

TEST(ReplyReaderTest, ReadsWholeAndInPieces) {
  const struct {
    std::string wire;
    std::string want;
  } cases[] = {
      {"+PONG\r\n", "PONG;"},
      {":-42\r\n:7\r\n", "-42;7;"},
      {"$5\r\nhello\r\n", "\"hello\";"},
      {"$0\r\n\r\n", "\"\";"},
      {"$-1\r\n", "nil;"},
      {"*-1\r\n", "nil;"},
      {"*0\r\n+x\r\n", "[];x;"},
      {std::string("$3\r\n\0\r\n\r\n", 9), std::string("\"\0\r\n\";", 6)},
      {"-MOVED 3999 10.0.0.1:6381\r\n", "!MOVED 3999 10.0.0.1:6381;"},
      {"*3\r\n$1\r\na\r\n*2\r\n:1\r\n*1\r\n$-1\r\n-ERR x\r\n", "[\"a\" [1 [nil]] !ERR x];"},
  };
  for (const auto& c : cases) {
    for (const size_t piece : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 16u, 31u, 4096u}) {
      EXPECT_EQ(ReadInPieces(c.wire, piece), c.want) << piece;
    }
  }
}

TEST(ReplyReaderTest, OtherProtocolsAreAnError) {
  for (const std::string wire : {"HTTP/1.1 400 Bad Request\r\n", "\x15\x03\x01\r\n", "*x\r\n"}) {
    EXPECT_THAT(ReadInPieces(wire, 4096), HasSubstr("<")) << wire;
  }
}

TEST(ReplyReaderTest, BoundsWhatAPeerCanMakeItKeep) {
  EXPECT_EQ(ReadInPieces("*2147483647\r\n", 4096), "<a reply has too many elements>");
  std::string nested;
  for (int i = 0; i < 6; ++i) nested += "*100000\r\n";
  EXPECT_EQ(ReadInPieces(nested, 4096), "<a reply has too many elements>");

  ReplyReader reader;
  ASSERT_TRUE(reader.Feed("$100000000\r\n"));
  const std::string block(1 << 20, 'x');
  bool refused = false;
  for (int i = 0; i < 80 && !refused; ++i) {
    refused = !reader.Feed(block).has_value();
    if (!refused) {
      ASSERT_TRUE(reader.Next());
    }
  }
  EXPECT_TRUE(refused);
}

TEST(FormatCommandTest, WritesBinaryArguments) {
  EXPECT_EQ(FormatCommand({"SET", std::string_view("a\0b", 3), ""}),
            std::string("*3\r\n$3\r\nSET\r\n$3\r\na\0b\r\n$0\r\n\r\n", 28));
}

}  // namespace
}  // namespace activescale::redis
