#include "metricsapi/review_cache.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/testing/fake_clock.h"

namespace activescale::metricsapi {
namespace {

using std::chrono::seconds;
using Cache = ReviewCache<int>;

class ReviewCacheTest : public testing::Test {
 protected:
  /// Asks for `key`; the judge's callback lands in `asked_`, the answer in `answers_`.
  void Get(const std::string& key) {
    cache_.Get(
        key, [this](Cache::Callback answer) { asked_.push_back(std::move(answer)); },
        [this](base::Result<int> answer) { answers_.push_back(std::move(answer)); });
  }

  base::FakeClock clock_;
  Cache cache_{clock_, seconds(10), 3};
  std::vector<Cache::Callback> asked_;
  std::vector<base::Result<int>> answers_;
};

TEST_F(ReviewCacheTest, RemembersAnAnswerForItsTime) {
  Get("a");
  asked_[0](7);
  clock_.Advance(seconds(9));
  Get("a");
  EXPECT_EQ(asked_.size(), 1);
  ASSERT_EQ(answers_.size(), 2);
  EXPECT_EQ(*answers_[1], 7);
  clock_.Advance(seconds(1));
  Get("a");
  EXPECT_EQ(asked_.size(), 2);
}

TEST_F(ReviewCacheTest, AsksOnceForAllWhoWaitAndEachKeyByItself) {
  Get("a");
  Get("a");
  Get("b");
  EXPECT_EQ(asked_.size(), 2);
  asked_[1](2);
  ASSERT_EQ(answers_.size(), 1);
  asked_[0](1);
  ASSERT_EQ(answers_.size(), 3);
  EXPECT_EQ(*answers_[0], 2);
  EXPECT_EQ(*answers_[2], 1);
}

TEST_F(ReviewCacheTest, DoesNotRememberFailures) {
  Get("a");
  Get("a");
  asked_[0](base::Fail(base::Code::kUnavailable, "away"));
  ASSERT_EQ(answers_.size(), 2);
  EXPECT_FALSE(answers_[1]);
  Get("a");
  EXPECT_EQ(asked_.size(), 2);
}

TEST_F(ReviewCacheTest, StaysWithinItsBoundAndLosesNobodyWhoWaits) {
  Get("waiting");
  for (int i = 0; i < 100; ++i) {
    Get("key" + std::to_string(i));
    asked_.back()(i);
    clock_.Advance(seconds(1));
  }
  EXPECT_EQ(answers_.size(), 100);
  asked_[0](-1);
  ASSERT_EQ(answers_.size(), 101);
  EXPECT_EQ(*answers_[100], -1);
  Get("key99");
  EXPECT_EQ(asked_.size(), 101);  // the newest is still known
  Get("key0");
  EXPECT_EQ(asked_.size(), 102);  // an old one is not
}

}  // namespace
}  // namespace activescale::metricsapi
