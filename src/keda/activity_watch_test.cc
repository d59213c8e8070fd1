#include "keda/activity_watch.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/testing/fake_clock.h"
#include "signal/testing/signal_fixture.h"

namespace activescale::keda {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Recorder final : public ActivityListener {
 public:
  void OnActivity(bool active) override { events.push_back(active); }
  std::vector<bool> events;
};

class ActivityWatchTest : public testing::Test {
 protected:
  static Trigger TriggerOf(const std::string& query) {
    const auto trigger = ParseTrigger({"shop", "web", {{"query", query}, {"threshold", "4"}}}, {});
    EXPECT_TRUE(trigger) << trigger.error().message;
    return *trigger;
  }
  std::shared_ptr<Recorder> Open(const std::string& query) {
    auto recorder = std::make_shared<Recorder>();
    EXPECT_TRUE(watch_.Add(recorder, TriggerOf(query)));
    return recorder;
  }
  /// A flush with this value, then a tick, 50 ms later.
  void Flush(double value) {
    clock_.Advance(milliseconds(50));
    signals_.Set("inflight", {{"pod", "a"}}, value);
    watch_.Wake();
    watch_.Tick();
  }

  base::FakeClock clock_;
  telemetry::Registry registry_;
  signal::SignalFixture signals_{clock_, registry_};
  Scaler scaler_{[this] { return signals_.catalogue(); }, signals_.reader()};
  ActivityWatch watch_{scaler_, clock_, 100};
};

TEST_F(ActivityWatchTest, TellsThePresentStateOnceAndThenWhatWakes) {
  Flush(0);
  const auto events = Open("sum(inflight)");
  watch_.Tick();
  EXPECT_EQ(events->events, std::vector<bool>({false}));
  Flush(0);
  Flush(3);
  EXPECT_EQ(events->events, std::vector<bool>({false, true}));
  Flush(5);
  clock_.Advance(seconds(2));
  watch_.Tick();
  EXPECT_EQ(events->events, std::vector<bool>({false, true}));
}

TEST_F(ActivityWatchTest, AStateThatIsNotKnownIsToldWhenItIs) {
  const auto events = Open("sum(inflight)");
  watch_.Tick();
  EXPECT_TRUE(events->events.empty());
  Flush(2);
  EXPECT_EQ(events->events, std::vector<bool>({true}));
}

// Case D3: repeated events keep a workload awake for ever; case D2: `false` must mean nothing.
TEST_F(ActivityWatchTest, SixtyObjectsAreToldOfTransitionsAlone) {
  std::vector<std::shared_ptr<Recorder>> all;
  for (int i = 0; i < 60; ++i) all.push_back(Open("sum(inflight) > -1"));
  Flush(0);
  for (int second = 0; second < 90; ++second) {
    Flush(3);
    clock_.Advance(seconds(1));
  }
  for (int second = 0; second < 120; ++second) {
    Flush(0);
    clock_.Advance(seconds(1));
  }
  for (const auto& recorder : all) EXPECT_EQ(recorder->events, std::vector<bool>({false, true}));
  Flush(1);
  for (const auto& recorder : all) {
    EXPECT_EQ(recorder->events, std::vector<bool>({false, true, true}));
  }
}

TEST_F(ActivityWatchTest, RefusesOneMoreThanItsLimitAndForgetsWhoLeft) {
  std::vector<std::shared_ptr<Recorder>> all;
  for (int i = 0; i < 100; ++i) all.push_back(Open("sum(inflight)"));
  const auto refused = watch_.Add(std::make_shared<Recorder>(), TriggerOf("sum(inflight)"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Code::kResourceExhausted);
  watch_.Remove(*all[0]);
  const auto next = Open("sum(inflight)");
  Flush(1);
  EXPECT_TRUE(all[0]->events.empty());
  EXPECT_EQ(next->events, std::vector<bool>({true}));
}

TEST_F(ActivityWatchTest, ListenersComeAndGoWhileItLooks) {
  Flush(1);
  std::thread others([this] {
    for (int i = 0; i < 200; ++i) {
      const auto recorder = Open("sum(inflight)");
      watch_.Wake();
      watch_.Remove(*recorder);
    }
  });
  for (int i = 0; i < 200; ++i) watch_.Tick();
  others.join();
}

}  // namespace
}  // namespace activescale::keda
