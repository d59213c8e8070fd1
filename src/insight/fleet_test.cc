#include "insight/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/fake_clock.h"

namespace activescale::insight {
namespace {

using metric::Quantity;
using std::chrono::milliseconds;
using std::chrono::seconds;
using store::PodReading;

constexpr seconds kTtl{20};

class FleetTest : public testing::Test {
 protected:
  /// A pod with one reading, of the first metric; the others are the heartbeat's zeros.
  void Add(const std::string& ns, const std::string& name, const std::string& workload,
           std::optional<int> value, seconds age = seconds(0)) {
    pods_.push_back({{ns, name}, workload});
    auto& readings = readings_.emplace_back();
    for (size_t kind = 0; kind < readings.size(); ++kind) {
      PodReading& reading = readings[kind];
      if (value) {
        reading.state = kind == 0 ? PodReading::State::kValue : PodReading::State::kSynthesizedZero;
        reading.value = Quantity::FromMilli(kind == 0 ? *value * 1000 : 0);
        reading.received = clock_.Now() - age;
      }
    }
  }
  Fleet Make() { return MakeFleet(pods_, readings_, kTtl, clock_); }

  base::FakeClock clock_;
  std::vector<kube::IndexedPod> pods_;
  std::vector<store::ReadAllResult::Readings> readings_;
};

TEST_F(FleetTest, SumsTheSpreadOfAWorkloadsPods) {
  Add("shop", "web-a", "web", 3);
  Add("shop", "web-b", "web", 12);
  Add("shop", "web-c", "web", 0);
  const Fleet fleet = Make();
  ASSERT_EQ(fleet.workloads.size(), 1U);
  const WorkloadSight& web = fleet.workloads[0];
  EXPECT_EQ(web.loads[0]->total.milli(), 15'000);
  EXPECT_EQ(web.loads[0]->least.milli(), 0);
  EXPECT_EQ(web.loads[0]->most.milli(), 12'000);
  EXPECT_EQ(web.loads[1]->total.milli(), 0);
  EXPECT_EQ(web.missing, 0U);
  EXPECT_TRUE(web.heard());
  EXPECT_EQ(fleet.at, clock_.WallNow());
}

TEST_F(FleetTest, MissingIsNotZero) {
  Add("shop", "web-a", "web", 3);
  Add("shop", "web-b", "web", std::nullopt);
  Add("shop", "silent-a", "silent", std::nullopt);
  const Fleet fleet = Make();
  const WorkloadSight* web = fleet.Find("shop", "web");
  ASSERT_NE(web, nullptr);
  EXPECT_EQ(web->missing, 1U);
  EXPECT_EQ(web->loads[0]->least.milli(), 3'000) << "the missing pod has no value";
  EXPECT_EQ(web->pods[1].values[0], std::nullopt);
  EXPECT_EQ(web->pods[1].age, std::nullopt);
  const WorkloadSight* silent = fleet.Find("shop", "silent");
  ASSERT_NE(silent, nullptr);
  EXPECT_EQ(silent->loads[0], std::nullopt);
  EXPECT_FALSE(silent->heard());
}

TEST_F(FleetTest, APodIsStaleAfterHalfTheTtl) {
  Add("shop", "web-a", "web", 3, seconds(10));
  Add("shop", "web-b", "web", 3, seconds(11));
  const Fleet fleet = Make();
  EXPECT_EQ(fleet.workloads[0].stale, 1U);
  EXPECT_EQ(fleet.workloads[0].pods[1].age, milliseconds(11'000));
}

TEST_F(FleetTest, TheNewestOfItsMetricsTellsWhenAPodWasHeard) {
  Add("shop", "web-a", "web", 3, seconds(15));
  readings_[0][2].received = clock_.Now() - seconds(1);
  EXPECT_EQ(Make().workloads[0].pods[0].age, milliseconds(1'000));
  readings_[0][2].received = clock_.Now() + seconds(1);  // another replica's clock
  EXPECT_EQ(Make().workloads[0].pods[0].age, milliseconds(0));
}

TEST_F(FleetTest, WorkloadsAreInOrderWhateverTheOrderOfPods) {
  Add("b", "x-1", "x", 1);
  Add("a", "z-1", "z", 1);
  Add("a", "alone", "", 1);
  Add("b", "x-2", "x", 1);
  Add("a", "z-2", "z", 1);
  const Fleet fleet = Make();
  std::vector<std::string> names;
  for (const WorkloadSight& workload : fleet.workloads) {
    names.push_back(workload.ns + "/" + workload.name + ":" + std::to_string(workload.pods.size()));
  }
  EXPECT_THAT(names, testing::ElementsAre("a/alone:1", "a/z:2", "b/x:2"));
  EXPECT_EQ(fleet.Find("a", "x"), nullptr);
  EXPECT_NE(fleet.Find("b", "x"), nullptr);
}

}  // namespace
}  // namespace activescale::insight
