#include "insight/load_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/testing/fake_clock.h"

namespace activescale::insight {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class LoadHistoryTest : public testing::Test {
 protected:
  static WorkloadSight Sight(const std::string& name, std::optional<double> value,
                             size_t pods = 1) {
    WorkloadSight sight{.ns = "shop", .name = name};
    sight.pods.resize(pods);
    sight.missing = value ? 0 : pods;
    if (value) sight.loads[0] = Load{.total = *metric::Quantity::FromSample(*value)};
    return sight;
  }
  void Add(std::vector<WorkloadSight> workloads) {
    history_.Add({.at = clock_.WallNow(), .workloads = std::move(workloads)}, clock_.Now());
  }
  /// The last points of the first metric, as JSON.
  std::string Last(const std::string& name, size_t count) {
    const auto document = boost::json::parse(history_.Json({{"shop", name}}, 0));
    const auto& points = document.at("workloads").at(0).at("values").as_array();
    if (points.empty()) return "none";
    EXPECT_EQ(points.size(), LoadHistory::kPoints);
    boost::json::array last(points.end() - static_cast<std::ptrdiff_t>(count), points.end());
    return boost::json::serialize(last);
  }

  base::FakeClock clock_;
  LoadHistory history_;
};

TEST_F(LoadHistoryTest, KeepsOnePointAStep) {
  Add({Sight("web", 3)});
  clock_.Advance(seconds(1));
  Add({Sight("web", 100)});  // the same step
  clock_.Advance(seconds(4));
  Add({Sight("web", 4.5)});
  EXPECT_EQ(Last("web", 3), "[null,3,4.5E0]");
}

TEST_F(LoadHistoryTest, WhatWasNotReadOrIsMissingIsAGapAndNotZero) {
  Add({Sight("web", 3)});
  clock_.Advance(seconds(15));
  Add({Sight("web", 0)});
  clock_.Advance(seconds(5));
  Add({Sight("web", std::nullopt)});
  clock_.Advance(seconds(5));
  Add({});  // the workload is not there
  clock_.Advance(seconds(5));
  Add({Sight("web", 7)});
  EXPECT_EQ(Last("web", 7), "[3,null,null,0,null,null,7]");
}

TEST_F(LoadHistoryTest, TheRingGoesRound) {
  for (int i = 0; i < 400; ++i) {
    Add({Sight("web", i)});
    clock_.Advance(seconds(5));
  }
  EXPECT_EQ(Last("web", 2), "[398,399]");
  const auto document = boost::json::parse(history_.Json({{"shop", "web"}}, 0));
  EXPECT_EQ(document.at("workloads").at(0).at("values").at(0), 220);
  EXPECT_EQ(document.at("step"), 5);
}

TEST_F(LoadHistoryTest, ForgetsWhoWasSilentFor15MinutesAndKeepsNobodyWhoNeverSpoke) {
  Add({Sight("web", 3), Sight("mute", std::nullopt)});
  EXPECT_EQ(history_.size(), 1U);
  EXPECT_FALSE(history_.Knows("shop", "mute"));
  for (int i = 0; i < 179; ++i) {
    clock_.Advance(seconds(5));
    Add({Sight("web", std::nullopt)});
  }
  EXPECT_TRUE(history_.Knows("shop", "web"));
  clock_.Advance(seconds(5));
  Add({Sight("web", std::nullopt)});
  EXPECT_FALSE(history_.Knows("shop", "web"));
  EXPECT_EQ(Last("web", 1), "none");
}

TEST_F(LoadHistoryTest, ALongPauseLeavesNothingOfBefore) {
  Add({Sight("web", 3)});
  clock_.Advance(minutes(60));
  Add({Sight("web", 4)});
  EXPECT_EQ(history_.Json({{"shop", "web"}}, 0).find("3,"), std::string::npos);
  EXPECT_EQ(Last("web", 1), "[4]");
}

TEST_F(LoadHistoryTest, AllMetricsAndPodsAreToldTogether) {
  Add({Sight("web", 3, 2)});
  const auto document = boost::json::parse(history_.Json({{"shop", "web"}}, std::nullopt));
  const auto& workload = document.at("workloads").at(0);
  EXPECT_EQ(workload.at("values").as_array().size(), metric::kMetricKindCount);
  EXPECT_EQ(workload.at("values").at(0).as_array().back(), 3);
  EXPECT_TRUE(workload.at("values").at(1).as_array().back().is_null());
  EXPECT_EQ(workload.at("pods").as_array().back(), 2);
}

TEST_F(LoadHistoryTest, TheNumberOfWorkloadsIsBounded) {
  std::vector<WorkloadSight> many;
  for (size_t i = 0; i < LoadHistory::kMaxWorkloads + 10; ++i) {
    many.push_back(Sight("w" + std::to_string(i), 1));
  }
  Add(std::move(many));
  EXPECT_EQ(history_.size(), LoadHistory::kMaxWorkloads);
}

}  // namespace
}  // namespace activescale::insight
