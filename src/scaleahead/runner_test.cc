#include "scaleahead/runner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/fake_clock.h"
#include "scaleahead/testing/fake_hands.h"
#include "scaleahead/testing/objects.h"
#include "store/testing/fake_store.h"

namespace activescale::scaleahead {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A runner in a world of one Deployment, whose pods and values a test sets.
class RunnerTest : public testing::Test {
 protected:
  void SetUp() override { Make({.mode = Mode::kOn}); }

  void Make(Runner::Options options) {
    runner_ = std::make_unique<Runner>(options, MakeSeams(), hands_, clock_, registry_);
  }

  Seams MakeSeams() {
    return {
        .reader_of = [this](const kube::HpaObject& hpa, size_t metric,
                            const std::string&) -> base::Result<MetricReader> {
          if (hpa.spec.metrics[metric].type == hpa::MetricType::kResource) {
            return base::Fail(base::Code::kNotFound, "it is not one of ours");
          }
          return [this](std::move_only_function<void(MetricReading)> done) {
            ++reads_;
            MetricReading reading;
            for (const auto& [pod, value] : values_) {
              reading.answer.by_pod[pod] = {.value_milli = value};
              reading.facts.times.push_back({.pod = pod, .received = pushed_, .busy = value > 0});
            }
            reading.facts.partial = partial_;
            if (values_.empty()) reading.answer.error = "no telemetry";
            done(std::move(reading));
          };
        },
        .pods_of = [this](std::string_view,
                          const metric::Selector&) -> base::Result<std::vector<TargetPod>> {
          if (!pods_known_) return base::Fail(base::Code::kUnavailable, "not listed");
          std::vector<TargetPod> pods;
          for (const auto& [pod, value] : values_) {
            pods.push_back({.pod = {.name = pod}, .ready_since = base::SteadyTime()});
          }
          return pods;
        },
        .workload_of = [](metric::PodKeyView pod) -> std::optional<std::string> {
          return std::string(pod.name.substr(0, pod.name.find('-')));
        },
        .acts_for = [this](std::string_view) { return acts_; },
        .watches_fresh = [this](std::string_view) { return fresh_; },
        .stepped = [this](const kube::HpaObject& hpa,
                          const metric::Selector&) { stepped_.push_back(hpa.name); },
        .broken = [this](const kube::HpaObject& hpa) { broken_.push_back(hpa.name); },
        .post = [this](auto work) { posted_.push_back(std::move(work)); }};
  }

  static Target Web(int32_t replicas, const std::string& version = "1") {
    return {.ns = "shop",
            .kind = "Deployment",
            .resource = "deployments",
            .name = "web",
            .resource_version = version,
            .selector = "app=web",
            .spec_replicas = replicas,
            .status_replicas = replicas};
  }

  /// The same, its count written by a step ahead.
  static Target Stepped(int32_t replicas, const std::string& version) {
    Target target = Web(replicas, version);
    target.stepped = true;
    return target;
  }

  /// The HPA and its target, watched for long enough.
  void Warm(int32_t replicas = 2) {
    runner_->OnTarget(Web(replicas));
    runner_->OnHpa(WebHpa());
    Tick();
    clock_.Advance(seconds(60));
    Tick();
  }

  void Tick() {
    runner_->Tick();
    while (!posted_.empty()) {
      auto work = std::move(posted_.front());
      posted_.pop_front();
      work();
    }
  }

  /// Both pods push `milli` each.
  void Push(int64_t milli) {
    clock_.Advance(milliseconds(200));
    pushed_ = clock_.Now();
    values_ = {{"web-0", milli}, {"web-1", milli}};
    runner_->OnPushed({.pods = {{"shop", "web-0"}, {"shop", "web-1"}}});
    Tick();
  }

  void End(StepResult result) {
    ASSERT_FALSE(hands_.calls.empty());
    auto call = std::move(hands_.calls.front());
    hands_.calls.pop_front();
    call.done(std::move(result));
    Tick();
  }

  base::FakeClock clock_;
  telemetry::Registry registry_;
  FakeHands hands_;
  std::map<std::string, int64_t> values_{{"web-0", 10'000}, {"web-1", 10'000}};
  base::SteadyTime pushed_ = clock_.Now();
  bool acts_ = true;
  bool fresh_ = true;
  bool partial_ = false;
  bool pods_known_ = true;
  int reads_ = 0;
  std::vector<std::string> stepped_;
  std::vector<std::string> broken_;
  std::deque<std::move_only_function<void()>> posted_;
  std::unique_ptr<Runner> runner_;
};

TEST_F(RunnerTest, APushThatAsksForMoreIsAStepWithThePrecondition) {
  Warm();
  Push(40'000);
  ASSERT_EQ(hands_.steps.size(), 1U);
  EXPECT_EQ(hands_.steps[0].resource, "deployments");
  EXPECT_EQ(hands_.steps[0].name, "web");
  EXPECT_EQ(hands_.steps[0].resource_version, "1");
  EXPECT_EQ(hands_.steps[0].replicas, 8);
  EXPECT_TRUE(hands_.notices.empty()) << "not told before it is done";
  End({});
  ASSERT_EQ(hands_.notices, std::vector<std::string>{"ScaledAhead"});
  EXPECT_EQ(hands_.notes[0],
            "web: 2 -> 8 replicas: Pods inbound_active_requests is 40, its target 10; 0 ms after "
            "the push");
}

TEST_F(RunnerTest, WhileNothingChangesNothingIsReadOrWritten) {
  Warm();
  const int reads = reads_;
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(Runner::kTick);
    Tick();
  }
  EXPECT_EQ(reads_, reads);
  EXPECT_TRUE(hands_.steps.empty());
}

TEST_F(RunnerTest, PushesOfOthersWakeNobody) {
  Warm();
  const int reads = reads_;
  clock_.Advance(seconds(1));
  runner_->OnPushed({.pods = {{"shop", "cart-0"}, {"other", "web-0"}}});
  Tick();
  EXPECT_EQ(reads_, reads);
  runner_->OnPushed({.pods = {}, .more = true});
  Tick();
  EXPECT_EQ(reads_, reads + 1) << "whose pushes were too many to note, all are looked at";
}

TEST_F(RunnerTest, AnHpaIsLookedAtOnceInItsInterval) {
  Warm();
  const int reads = reads_;
  clock_.Advance(seconds(1));
  for (int i = 0; i < 10; ++i) {
    runner_->OnPushed({.pods = {{"shop", "web-0"}}});
    Tick();
    clock_.Advance(milliseconds(20));
  }
  EXPECT_EQ(reads_, reads + 2);
}

TEST_F(RunnerTest, OneStepIsUnderWayAtATime) {
  Warm();
  Push(40'000);
  clock_.Advance(seconds(5));
  Push(80'000);
  EXPECT_EQ(hands_.steps.size(), 1U);
  End({});
}

TEST_F(RunnerTest, AConflictIsTriedAgainWithWhatTheWatchShowsThen) {
  Warm();
  Push(40'000);
  End({.outcome = StepOutcome::kConflict, .message = "changed"});
  Push(40'000);  // 200 ms later: the back-off is over
  ASSERT_EQ(hands_.steps.size(), 2U);
  End({.outcome = StepOutcome::kConflict, .message = "changed"});
  runner_->OnTarget(Web(8, "2"));  // the controller was first
  clock_.Advance(seconds(2));
  Push(40'000);
  EXPECT_EQ(hands_.steps.size(), 2U) << "8 replicas are what was wanted";
  EXPECT_TRUE(hands_.notices.empty());
}

TEST_F(RunnerTest, AnApiServerThatIsAwayPausesEverything) {
  Warm();
  Push(40'000);
  End({.outcome = StepOutcome::kAway, .message = "503"});
  Push(50'000);
  EXPECT_EQ(hands_.steps.size(), 1U);
  clock_.Advance(seconds(1));
  Push(50'000);
  ASSERT_EQ(hands_.steps.size(), 2U);
  End({.outcome = StepOutcome::kAway, .message = "429", .retry_after = seconds(20)});
  clock_.Advance(seconds(19));
  Push(50'000);
  EXPECT_EQ(hands_.steps.size(), 2U);
  clock_.Advance(seconds(1));
  Push(50'000);
  EXPECT_EQ(hands_.steps.size(), 3U);
}

TEST_F(RunnerTest, AForbiddenStepIsToldAndNotTriedForAMinute) {
  Warm();
  Push(40'000);
  End({.outcome = StepOutcome::kForbidden, .message = "grant it by RBAC"});
  EXPECT_EQ(hands_.notices, std::vector<std::string>{"ScaleAheadFailed"});
  EXPECT_EQ(hands_.notes[0], "web: grant it by RBAC");
  clock_.Advance(seconds(50));
  Push(40'000);
  EXPECT_EQ(hands_.steps.size(), 1U);
  clock_.Advance(seconds(11));
  Push(40'000);
  EXPECT_EQ(hands_.steps.size(), 2U);
}

TEST_F(RunnerTest, ObservingTellsAndTouchesNothing) {
  Make({.mode = Mode::kObserve});
  Warm();
  Push(40'000);
  Push(40'000);
  EXPECT_TRUE(hands_.steps.empty());
  ASSERT_EQ(hands_.notices, std::vector<std::string>{"WouldScaleAhead"}) << "told once";
  EXPECT_EQ(runner_->states().Of("shop", "web"), State::kObserve);
  clock_.Advance(milliseconds(8'800));
  runner_->OnTarget(Web(8, "2"));
  const std::string metrics = registry_.Render();
  EXPECT_NE(metrics.find("activescale_scale_ahead_earlier_seconds_count 1\n"), std::string::npos);
  EXPECT_NE(metrics.find("activescale_scale_ahead_earlier_seconds_sum 9\n"), std::string::npos);
}

TEST_F(RunnerTest, FaultsOfAnHpaAreToldOnce) {
  struct Case {
    std::string name;
    std::function<void(kube::HpaObject&)> break_it;
    std::string word;
  };
  const Case cases[] = {
      {"annotation", [](auto& hpa) { hpa.annotations[std::string(kAnnotation)] = "maybe"; },
       "\"maybe\""},
      {"kind", [](auto& hpa) { hpa.target.kind = "Rollout"; }, "no Rollout web"},
      {"name", [](auto& hpa) { hpa.target.name = "gone"; }, "no Deployment gone"},
      {"metric", [](auto& hpa) { hpa.spec.metrics[0].type = hpa::MetricType::kResource; },
       "none of its metrics"},
  };
  for (const Case& c : cases) {
    hands_ = {};
    Make({.mode = Mode::kOn});
    kube::HpaObject hpa = WebHpa();
    c.break_it(hpa);
    runner_->OnTarget(Web(2));
    for (int i = 0; i < 3; ++i) {
      clock_.Advance(seconds(20));
      runner_->OnHpa(hpa);
      Tick();
      Push(90'000);
    }
    EXPECT_TRUE(hands_.steps.empty()) << c.name;
    ASSERT_EQ(hands_.notices, std::vector<std::string>{"ScaleAheadRefused"}) << c.name;
    EXPECT_NE(hands_.notes[0].find(c.word), std::string::npos) << hands_.notes[0];
  }
}

TEST_F(RunnerTest, TwoHpasOnOneTargetAreBothLeftAlone) {
  Warm();
  kube::HpaObject second = WebHpa();
  second.name = "web-2";
  second.uid = "uid-2";
  runner_->OnHpa(second);
  Push(90'000);
  clock_.Advance(seconds(60));
  Push(90'000);
  EXPECT_TRUE(hands_.steps.empty());
  EXPECT_EQ(hands_.notices.size(), 2U);
  runner_->OnHpaGone("shop", "web-2");
  Push(90'000);
  EXPECT_EQ(hands_.steps.size(), 1U);
}

TEST_F(RunnerTest, WhatIsNotKnownIsNotActedOn) {
  Warm();
  fresh_ = false;
  Push(90'000);
  fresh_ = true;
  pods_known_ = false;
  Push(90'000);
  pods_known_ = true;
  partial_ = true;
  Push(90'000);
  partial_ = false;
  acts_ = false;
  Push(90'000);
  acts_ = true;
  EXPECT_TRUE(hands_.steps.empty());
  Push(90'000);
  EXPECT_EQ(hands_.steps.size(), 1U);
}

TEST_F(RunnerTest, AMaximumLoweredBelowThePresentCountIsTheControllersToEnforce) {
  Warm();
  kube::HpaObject lowered = WebHpa();
  lowered.spec.max_replicas = 2;
  runner_->OnHpa(lowered);
  runner_->OnTarget(Web(6, "2"));
  clock_.Advance(seconds(20));
  Push(90'000);
  EXPECT_TRUE(hands_.steps.empty());
}

TEST_F(RunnerTest, WhoScalesDownByHandIsNotOverruledAtOnce) {
  Warm(8);
  runner_->OnTarget(Web(2, "2"));
  Push(90'000);
  EXPECT_TRUE(hands_.steps.empty());
  clock_.Advance(seconds(15));
  Push(90'000);
  EXPECT_EQ(hands_.steps.size(), 1U);
}

TEST_F(RunnerTest, TwoUndoneStepsAreToldAndEndTheFastPathForFiveMinutes) {
  Warm();
  for (int i = 0; i < 2; ++i) {
    Push(40'000);
    ASSERT_EQ(hands_.steps.size(), static_cast<size_t>(i) + 1);
    End({});
    runner_->OnTarget(Web(8, std::to_string(10 * i + 2)));
    clock_.Advance(seconds(10));
    Push(5'000);
    runner_->OnTarget(Web(2, std::to_string(10 * i + 3)));
    clock_.Advance(seconds(20));
  }
  EXPECT_EQ(hands_.notices, (std::vector<std::string>{"ScaledAhead", "ScaleAheadUndone",
                                                      "ScaledAhead", "ScaleAheadUndone"}));
  Push(40'000);
  EXPECT_EQ(hands_.steps.size(), 2U);
  EXPECT_EQ(runner_->states().Of("shop", "web"), State::kBroken);
  clock_.Advance(std::chrono::minutes(5));
  Push(40'000);
  EXPECT_EQ(hands_.steps.size(), 3U);
  EXPECT_EQ(runner_->states().Of("shop", "web"), State::kOn);
}

TEST_F(RunnerTest, ValuesStandStillAfterAStepOfAnyReplicaAndOfNobodyElse) {
  acts_ = false;
  Warm();
  runner_->OnTarget(Web(8, "2"));
  EXPECT_TRUE(stepped_.empty()) << "the controller or a person raised it";
  runner_->OnTarget(Stepped(9, "3"));
  EXPECT_EQ(stepped_, std::vector<std::string>{"web"});
  runner_->OnTarget(Stepped(9, "4"));
  EXPECT_EQ(stepped_.size(), 1U) << "the count did not change";
  runner_->OnTarget(Stepped(6, "5"));
  EXPECT_EQ(stepped_.size(), 1U) << "not after a scale-down";
}

TEST_F(RunnerTest, TheCircuitIsKnownToAReplicaThatDidNotAct) {
  acts_ = false;
  Warm();
  for (int i = 0; i < 2; ++i) {
    runner_->OnTarget(Stepped(8, std::to_string(10 * i + 2)));
    clock_.Advance(seconds(10));
    runner_->OnTarget(Web(2, std::to_string(10 * i + 3)));
    clock_.Advance(seconds(20));
  }
  Tick();
  EXPECT_EQ(runner_->states().Of("shop", "web"), State::kBroken);
  EXPECT_EQ(broken_, std::vector<std::string>{"web"});
  EXPECT_TRUE(hands_.notices.empty()) << "the replica that acts tells";
  acts_ = true;  // the other one is gone
  Push(40'000);
  EXPECT_TRUE(hands_.steps.empty());
  clock_.Advance(std::chrono::minutes(5));
  Push(40'000);
  EXPECT_EQ(hands_.steps.size(), 1U);
}

TEST_F(RunnerTest, WhoComesAnewIsWatchedFirst) {
  Warm();
  runner_->OnTargetGone("shop", "deployments", "web");
  runner_->OnTarget(Web(2, "7"));
  Push(90'000);
  EXPECT_TRUE(hands_.steps.empty());
  clock_.Advance(seconds(16));
  Push(90'000);
  EXPECT_EQ(hands_.steps.size(), 1U);
}

TEST_F(RunnerTest, AWallClockThatIsSetNeitherHastensNorDelaysAStep) {
  for (const auto by : {std::chrono::hours(-5), std::chrono::hours(5)}) {
    Make({.mode = Mode::kOn});
    hands_.steps.clear();
    values_ = {{"web-0", 10'000}, {"web-1", 10'000}};
    Warm();
    clock_.SetWallBy(by);
    Push(40'000);
    ASSERT_EQ(hands_.steps.size(), 1U);
    clock_.SetWallBy(-2 * by);
    End({});
    runner_->OnTarget(Web(8, "2"));
    Push(100'000);
    EXPECT_EQ(hands_.steps.size(), 1U) << "one step a second";
    clock_.Advance(seconds(1));
    Push(100'000);
    EXPECT_EQ(hands_.steps.size(), 2U);
    clock_.SetWallBy(by);
    End({});
  }
}

TEST_F(RunnerTest, WhatAnHpaGetsIsShownAsLongAsItIsThere) {
  kube::HpaObject hpa = WebHpa();
  runner_->OnTarget(Web(2));
  runner_->OnHpa(hpa);
  Tick();
  EXPECT_EQ(runner_->states().Of("shop", "web"), State::kOn);
  hpa.annotations.insert_or_assign(std::string(kAnnotation), "false");
  runner_->OnHpa(hpa);
  Tick();
  EXPECT_EQ(runner_->states().Of("shop", "web"), State::kOff);
  EXPECT_NE(registry_.Render().find("hpa=\"web\""), std::string::npos);
  runner_->OnHpaGone("shop", "web");
  Tick();
  EXPECT_EQ(registry_.Render().find("hpa=\"web\""), std::string::npos);
}

TEST_F(RunnerTest, WithASharedStoreHpasAreLookedAtUnasked) {
  Make({.mode = Mode::kOn, .polls = true});
  Warm();
  values_ = {{"web-0", 40'000}, {"web-1", 40'000}};  // pushed to another replica
  pushed_ = clock_.Now();
  for (int i = 0; i < 10 && hands_.steps.empty(); ++i) {
    clock_.Advance(Runner::kTick);
    Tick();
  }
  EXPECT_EQ(hands_.steps.size(), 1U) << "within 200 ms";
}

TEST(PushTapTest, WhatIsStoredIsNotedOnceSomebodyWantsIt) {
  store::FakeStore store;
  PushTap tap(store);
  const auto stream = tap.Open({"shop", "web-0"});
  stream->Write({}, {});
  EXPECT_TRUE(tap.Take().pods.empty());
  tap.SetWanted(true);
  stream->Write({}, {});
  stream->Heartbeat({});
  const PushTap::Pushed pushed = tap.Take();
  ASSERT_EQ(pushed.pods.size(), 1U);
  EXPECT_EQ(pushed.pods[0].name, "web-0");
  EXPECT_TRUE(tap.Take().pods.empty());
}

TEST(PushTapTest, NotesAreBounded) {
  store::FakeStore store;
  PushTap tap(store);
  tap.SetWanted(true);
  const auto stream = tap.Open({"shop", "web-0"});
  for (size_t i = 0; i <= PushTap::kMaxNoted; ++i) stream->Write({}, {});
  const PushTap::Pushed pushed = tap.Take();
  EXPECT_EQ(pushed.pods.size(), PushTap::kMaxNoted);
  EXPECT_TRUE(pushed.more);
}

}  // namespace
}  // namespace activescale::scaleahead
