#include "ingest/gzip.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ingest/testing/gzip.h"

namespace activescale::ingest {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;

std::string Text(const InflatedMessage& message) {
  std::string text;
  for (const std::string_view slice : message.slices()) text += slice;
  return text;
}

std::vector<std::string_view> Cut(const std::string& bytes, size_t size) {
  std::vector<std::string_view> slices;
  for (size_t at = 0; at < bytes.size(); at += size) {
    slices.push_back(std::string_view(bytes).substr(at, size));
  }
  return slices;
}

TEST(GzipTest, InflatesHoweverTheBytesAreCut) {
  std::string text;
  for (int64_t i = 0; i < 50'000; ++i) text += "family " + std::to_string(i * i % 977) + ";";
  for (const std::string& original : {text, std::string(65'536, 'a'), std::string("x")}) {
    const std::string compressed = Gzip(original);
    for (const size_t size : {size_t{1}, size_t{7}, size_t{1000}, compressed.size()}) {
      InflateBudget budget(16 * kMebibyte);
      InflatedMessage message(budget);
      ASSERT_TRUE(message.Inflate(Cut(compressed, size), kMebibyte));
      EXPECT_EQ(Text(message), original) << size;
      EXPECT_EQ(message.size(), original.size());
    }
  }
}

TEST(GzipTest, EmptyMessageIsEmpty) {
  InflateBudget budget(kMebibyte);
  InflatedMessage message(budget);
  ASSERT_TRUE(message.Inflate(Cut(Gzip(""), 100), kMebibyte));
  EXPECT_EQ(message.size(), 0u);
}

TEST(GzipTest, BombIsRefusedAtTheLimitNotAfterIt) {
  const std::string bomb = Gzip(std::string(64 * kMebibyte, '\0'));
  InflateBudget budget(4 * kMebibyte);
  InflatedMessage message(budget);
  const auto result = message.Inflate(Cut(bomb, 8192), 2 * kMebibyte);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, base::Code::kResourceExhausted);
  EXPECT_NE(result.error().message.find("2097152"), std::string::npos);
}

TEST(GzipTest, BytesOfTheLimitAreAccepted) {
  InflateBudget budget(4 * kMebibyte);
  InflatedMessage message(budget);
  EXPECT_TRUE(message.Inflate(Cut(Gzip(std::string(kMebibyte, 'a')), 8192), kMebibyte));
}

TEST(GzipTest, BudgetIsSharedAndGivenBack) {
  const std::string compressed = Gzip(std::string(kMebibyte, 'a'));
  InflateBudget budget(kMebibyte + kMebibyte / 2);
  {
    InflatedMessage first(budget);
    InflatedMessage second(budget);
    EXPECT_TRUE(first.Inflate(Cut(compressed, 8192), kMebibyte));
    const auto refused = second.Inflate(Cut(compressed, 8192), kMebibyte);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, base::Code::kResourceExhausted);
  }
  InflatedMessage later(budget);
  EXPECT_TRUE(later.Inflate(Cut(compressed, 8192), kMebibyte));
}

TEST(GzipTest, MalformedBytesAreRefused) {
  const std::string good = Gzip("some text that is long enough to be cut");
  std::string wrong_checksum = good;
  wrong_checksum[wrong_checksum.size() - 5] ^= 1;
  for (const std::string& bad : {good.substr(0, good.size() / 2), good.substr(0, 3), good + "more",
                                 wrong_checksum, std::string("\x1F\x8B garbage")}) {
    for (const size_t size : {size_t{1}, size_t{4096}}) {
      InflateBudget budget(kMebibyte);
      InflatedMessage message(budget);
      const auto result = message.Inflate(Cut(bad, size), kMebibyte);
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, base::Code::kInvalidArgument);
    }
  }
}

TEST(GzipTest, IsToldByItsFirstTwoBytes) {
  const std::string gzip = Gzip("x");
  EXPECT_TRUE(IsGzip(Cut(gzip, 1)));
  EXPECT_TRUE(IsGzip(Cut(gzip, 100)));
  EXPECT_FALSE(IsGzip({}));
  EXPECT_FALSE(IsGzip(Cut("\x1F", 1)));
  EXPECT_FALSE(IsGzip(Cut("\x12\x8B", 1)));
}

}  // namespace
}  // namespace activescale::ingest
