#include "signal/standing_moments.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/testing/fake_clock.h"
#include "base/unix_time.h"

namespace activescale::signal {
namespace {

using std::chrono::seconds;

class StandingMomentsTest : public testing::Test {
 protected:
  base::FakeClock clock_;
  StandingMoments moments_{clock_};
};

TEST_F(StandingMomentsTest, AQuestionStandsForItsTimeAndNoOtherDoes) {
  const int64_t at = base::UnixMsNow(clock_);
  moments_.Stand("shop/queued", seconds(16));
  clock_.Advance(seconds(15));
  EXPECT_EQ(moments_.Of("shop/queued"), at);
  EXPECT_EQ(moments_.Of("shop/other"), std::nullopt);
  clock_.Advance(seconds(1));
  EXPECT_EQ(moments_.Of("shop/queued"), std::nullopt);
}

TEST_F(StandingMomentsTest, ALaterMomentTakesThePlaceOfTheFirst) {
  moments_.Stand("shop/queued", seconds(16));
  clock_.Advance(seconds(10));
  moments_.Stand("shop/queued", seconds(16));
  const int64_t at = base::UnixMsNow(clock_);
  clock_.Advance(seconds(10));
  EXPECT_EQ(moments_.Of("shop/queued"), at);
}

TEST_F(StandingMomentsTest, AReleasedQuestionIsOfNow) {
  moments_.Stand("shop/queued", seconds(16));
  moments_.Release("shop/queued");
  EXPECT_EQ(moments_.Of("shop/queued"), std::nullopt);
}

}  // namespace
}  // namespace activescale::signal
