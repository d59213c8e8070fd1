#include "scaleahead/standing_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/testing/fake_clock.h"
#include "store/testing/fake_store.h"

namespace activescale::scaleahead {
namespace {

using metric::MetricKind;
using std::chrono::seconds;
using ReadingState = store::PodReading::State;

constexpr auto kKind = MetricKind::kInboundActiveRequests;

class StandingStoreTest : public testing::Test {
 protected:
  metric::PodKey Pod(const std::string& name) { return {"shop", name}; }
  void Set(const std::string& pod, double value) {
    store_.SetValue(Pod(pod), kKind, value, clock_.Now());
  }
  /// What is read of the pods: values, -1 for a missing one.
  std::vector<double> Read(const std::vector<std::string>& pods) {
    std::vector<metric::PodKey> keys;
    for (const std::string& pod : pods) keys.push_back(Pod(pod));
    std::vector<double> values;
    standing_.Read(keys, kKind, [&values](const base::Result<store::ReadResult>& result) {
      for (const store::PodReading& reading : result->readings) {
        values.push_back(reading.state == ReadingState::kMissing ? -1 : reading.value.ToDouble());
      }
    });
    return values;
  }
  void Stand() { standing_.Stand("shop", "web", {Pod("web-0"), Pod("web-1")}); }

  base::FakeClock clock_;
  telemetry::Registry registry_;
  store::FakeStore store_;
  StandingStore standing_{store_,
                          [](metric::PodKeyView pod) -> std::optional<std::string> {
                            return std::string(pod.name.substr(0, pod.name.find('-')));
                          },
                          clock_, registry_};
};

TEST_F(StandingStoreTest, WhileNewPodsJoinTheOldValuesStand) {
  Set("web-0", 100);
  Set("web-1", 100);
  Stand();
  Set("web-0", 10);
  Set("web-2", 10);
  Set("cart-0", 3);
  EXPECT_EQ(Read({"web-0", "web-1", "web-2", "cart-0"}), (std::vector<double>{100, 100, -1, 3}));
  clock_.Advance(StandingStore::kTime);
  EXPECT_EQ(Read({"web-0", "web-1", "web-2", "cart-0"}), (std::vector<double>{10, 100, 10, 3}));
}

TEST_F(StandingStoreTest, AfterASecondStepItsOwnMomentStands) {
  Set("web-0", 100);
  Set("web-1", 10);
  Stand();
  clock_.Advance(seconds(3));
  Set("web-1", 100);
  EXPECT_EQ(Read({"web-0", "web-1"}), (std::vector<double>{100, 10}));
  Stand();
  Set("web-0", 10);
  EXPECT_EQ(Read({"web-0", "web-1"}), (std::vector<double>{100, 100}));
  clock_.Advance(StandingStore::kTime - seconds(1));
  EXPECT_EQ(Read({"web-0", "web-1"}), (std::vector<double>{100, 100}));
  clock_.Advance(seconds(1));
  EXPECT_EQ(Read({"web-0", "web-1"}), (std::vector<double>{10, 100}));
}

TEST_F(StandingStoreTest, ValuesOfOneMomentEndTogetherWhateverTheirAge) {
  Set("web-0", 100);
  clock_.Advance(seconds(15));
  Set("web-1", 100);
  Stand();
  clock_.Advance(seconds(12));
  Set("web-0", 10);
  Set("web-1", 10);
  EXPECT_EQ(Read({"web-0", "web-1"}), (std::vector<double>{100, 100}));
  clock_.Advance(seconds(4));
  EXPECT_EQ(Read({"web-0", "web-1"}), (std::vector<double>{10, 10}));
}

TEST_F(StandingStoreTest, WhereNothingOfItIsLeftTheStoreAnswers) {
  Set("web-0", 100);
  Stand();
  Set("web-7", 10);  // of a rollout: web-0 and web-1 are gone
  EXPECT_EQ(Read({"web-7"}), std::vector<double>{10});
}

TEST_F(StandingStoreTest, ReleasedValuesMoveAgain) {
  Set("web-0", 100);
  Stand();
  Set("web-0", 10);
  standing_.Release("shop", "web");
  EXPECT_EQ(Read({"web-0"}), std::vector<double>{10});
}

TEST_F(StandingStoreTest, WhatIsNotKnownWholeDoesNotStand) {
  Set("web-0", 100);
  store_.SetPartial(true);
  Stand();
  store_.SetPartial(false);
  Set("web-0", 10);
  EXPECT_EQ(Read({"web-0"}), std::vector<double>{10});
  Stand();
  Set("web-0", 20);
  store_.SetPartial(true);
  Stand();
  store_.SetPartial(false);
  EXPECT_EQ(Read({"web-0"}), std::vector<double>{10}) << "what stood before, stands";
}

TEST_F(StandingStoreTest, AFailedReadStaysOne) {
  Set("web-0", 100);
  Stand();
  store_.Fail(base::Error{base::Code::kUnavailable, "away"});
  bool failed = false;
  standing_.Read({Pod("web-0")}, kKind, [&failed](const auto& result) { failed = !result; });
  EXPECT_TRUE(failed);
}

}  // namespace
}  // namespace activescale::scaleahead
