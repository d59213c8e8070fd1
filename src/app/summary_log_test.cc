#include "app/summary_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/fake_clock.h"

namespace activescale::app {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(SummaryLogTest, TellsTheGrowthOnceAnInterval) {
  base::FakeClock clock;
  double messages = 5;
  double dropped = 1;
  SummaryLog summary(
      seconds(30),
      {{"messages", [&] { return messages; }}, {"dropped_by_ids", [&] { return dropped; }}},
      clock.Now());
  const auto tick = [&](std::chrono::nanoseconds later) {
    clock.Advance(later);
    ::testing::internal::CaptureStderr();
    summary.Tick(clock.Now());
    return ::testing::internal::GetCapturedStderr();
  };
  messages = 12;
  EXPECT_EQ(tick(seconds(29)), "");
  EXPECT_THAT(tick(seconds(1)),
              HasSubstr("] summary of the last 30s: messages=7 dropped_by_ids=0\n"));
  EXPECT_EQ(tick(seconds(1)), "");
  dropped = 3;
  EXPECT_THAT(tick(seconds(30)), HasSubstr(" 31s: messages=0 dropped_by_ids=2\n"));
}

TEST(SummaryLogTest, AnIntervalOfZeroTellsNothing) {
  base::FakeClock clock;
  SummaryLog summary(seconds(0), {{"messages", [] { return 1.0; }}}, clock.Now());
  clock.Advance(std::chrono::hours(1));
  ::testing::internal::CaptureStderr();
  summary.Tick(clock.Now());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace activescale::app
