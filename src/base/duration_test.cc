#include "base/duration.h"

#include <gtest/gtest.h>

namespace activescale::base {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(DurationTest, ParsesWhatGoParses) {
  const struct {
    std::string_view text;
    nanoseconds want;
  } cases[] = {
      {"0", seconds(0)},
      {"0s", seconds(0)},
      {"+5s", seconds(5)},
      {"20s", seconds(20)},
      {"1m30s", seconds(90)},
      {"1.5h", minutes(90)},
      {".5s", milliseconds(500)},
      {"5.s", seconds(5)},
      {"300ms", milliseconds(300)},
      {"12us", nanoseconds(12'000)},
      {"12\xc2\xb5s", nanoseconds(12'000)},
      {"12\xce\xbcs", nanoseconds(12'000)},
      {"1h1m1s1ms1us1ns", nanoseconds(3'661'001'001'001)},
      {"1s1h", seconds(3601)},
      {"0.3333333333333333333h", minutes(20)},
      {"0.100000000000000000000h", minutes(6)},
      {"9223372036854775807ns", nanoseconds::max()},
      {"9223372036854775.807us", nanoseconds::max()},
      {"9223372036s854ms775us807ns", nanoseconds::max()},
  };
  for (const auto& c : cases) {
    const auto got = ParseDuration(c.text);
    ASSERT_TRUE(got) << c.text << ": " << got.error().message;
    EXPECT_EQ(*got, c.want) << c.text << " is " << got->count();
  }
}

TEST(DurationTest, RefusesTheRestWithTheTextAndAnExample) {
  for (std::string_view text : {"",
                                "3",
                                "-5s",
                                "-0",
                                "s",
                                ".",
                                ".s",
                                "+",
                                "1x",
                                "20 s",
                                " 20s",
                                "20S",
                                "1d",
                                "1e3s",
                                "1s2",
                                "--1s",
                                "3000000h",
                                "9223372036854775808ns",
                                "99999999999999999999s",
                                "1s\n"}) {
    const auto got = ParseDuration(text);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().code, Code::kInvalidArgument);
    EXPECT_NE(got.error().message.find(text), std::string::npos);
    EXPECT_NE(got.error().message.find("1m30s"), std::string::npos);
  }
}

TEST(DurationTest, FormatsTheShortestFormThatReadsBack) {
  const struct {
    nanoseconds duration;
    std::string_view want;
  } cases[] = {
      {seconds(0), "0s"},
      {seconds(20), "20s"},
      {seconds(90), "1m30s"},
      {hours(1), "1h"},
      {hours(26) + milliseconds(1500), "26h1.5s"},
      {milliseconds(1500), "1.5s"},
      {milliseconds(300), "300ms"},
      {minutes(1) + milliseconds(5), "1m5ms"},
      {nanoseconds(1'500), "1.5us"},
      {nanoseconds(7), "7ns"},
      {nanoseconds(1'000'000'001), "1.000000001s"},
      {nanoseconds::max(), "2562047h47m16.854775807s"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(FormatDuration(c.duration), c.want);
    const auto back = ParseDuration(c.want);
    ASSERT_TRUE(back) << c.want;
    EXPECT_EQ(*back, c.duration) << c.want;
  }
}

}  // namespace
}  // namespace activescale::base
