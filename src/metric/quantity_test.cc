#include "metric/quantity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "metric/testing/vectors.h"

namespace activescale::metric {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(QuantityTest, ParsesWhatKubernetesParsesToTheSameMilliValue) {
  const auto vectors = testing::ReadVectors("quantities.tsv");
  ASSERT_GT(vectors.size(), 300u);
  for (const auto& vector : vectors) {
    const auto got = Quantity::Parse(vector.input);
    EXPECT_EQ(got ? std::to_string(got->milli()) : "!error", vector.want)
        << '"' << vector.input << '"';
  }
}

TEST(QuantityTest, LongTextsAreExactAndHugeOnesCapped) {
  const std::string zeros(5000, '0');
  EXPECT_EQ(Quantity::Parse(zeros + "7")->milli(), 7000);
  EXPECT_EQ(Quantity::Parse("7." + zeros)->milli(), 7000);
  EXPECT_EQ(Quantity::Parse("7." + zeros + "1")->milli(), 7001);
  EXPECT_EQ(Quantity::Parse("7" + zeros)->milli(), kMax);
  EXPECT_EQ(Quantity::Parse("-7" + zeros)->milli(), -kMax);
  EXPECT_EQ(Quantity::Parse("1e2147483647")->milli(), kMax);
  EXPECT_EQ(Quantity::Parse("1e-2147483648")->milli(), 1);
  EXPECT_EQ(Quantity::Parse("0e2147483647")->milli(), 0);
  EXPECT_FALSE(Quantity::Parse("1e2147483648"));
}

TEST(QuantityTest, RefusalNamesTheTextAndShowsAnExample) {
  const auto got = Quantity::Parse("5x");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, base::Code::kInvalidArgument);
  EXPECT_NE(got.error().message.find("\"5x\""), std::string::npos);
  EXPECT_NE(got.error().message.find("500m"), std::string::npos);
}

TEST(QuantityTest, SampleIsRoundedToTheNearestMilliOrRefused) {
  const struct {
    double sample;
    std::optional<int64_t> want;
  } cases[] = {
      {0, 0},
      {-0.0, 0},
      {3, 3000},
      {2.5, 2500},
      {0.0004, 0},
      {0.0006, 1},
      {1e12, 1'000'000'000'000'000},
      {std::nextafter(1e12, 2e12), std::nullopt},
      {1e300, std::nullopt},
      {-1e-9, std::nullopt},
      {-1, std::nullopt},
      {std::numeric_limits<double>::quiet_NaN(), std::nullopt},
      {std::numeric_limits<double>::infinity(), std::nullopt},
      {-std::numeric_limits<double>::infinity(), std::nullopt},
  };
  for (const auto& c : cases) {
    const auto got = Quantity::FromSample(c.sample);
    EXPECT_EQ(got ? std::optional(got->milli()) : std::nullopt, c.want) << c.sample;
  }
}

TEST(QuantityTest, IntegersAreWrittenPlainlyAndFractionsInMilliUnits) {
  const struct {
    int64_t milli;
    std::string_view want;
  } cases[] = {{0, "0"},
               {3000, "3"},
               {2500, "2500m"},
               {1, "1m"},
               {-1500, "-1500m"},
               {1'000'000'000'000'000, "1000000000000"},
               {kMax, "9223372036854775807m"},
               {kMin, "-9223372036854775808m"}};
  for (const auto& c : cases) {
    EXPECT_EQ(Quantity::FromMilli(c.milli).ToString(), c.want);
    EXPECT_EQ(Quantity::Parse(c.want)->milli(), std::max(c.milli, -kMax));
  }
}

TEST(QuantityTest, SumsSaturateAndSaySo) {
  const auto add = [](int64_t a, int64_t b, bool* saturated) {
    return Quantity::FromMilli(a).SaturatingAdd(Quantity::FromMilli(b), saturated).milli();
  };
  bool saturated = false;
  EXPECT_EQ(add(1, 2, &saturated), 3);
  EXPECT_EQ(add(kMax, kMin, &saturated), -1);
  EXPECT_FALSE(saturated);
  EXPECT_EQ(add(kMax, 1, &saturated), kMax);
  EXPECT_TRUE(saturated);
  EXPECT_EQ(add(kMin, -1, nullptr), kMin);
  add(1, 2, &saturated);
  EXPECT_TRUE(saturated) << "never cleared";
}

}  // namespace
}  // namespace activescale::metric
