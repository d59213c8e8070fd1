#include "scaleahead/decision.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ostream>
#include <string>
#include <vector>

#include "scaleahead/testing/objects.h"

namespace activescale::scaleahead {

void PrintTo(Hold hold, std::ostream* out) { *out << HoldName(hold); }

namespace {

using base::SteadyTime;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Moments in milliseconds since the memory's first.
SteadyTime At(int ms) { return SteadyTime(seconds(1'000'000) + milliseconds(ms)); }

/// Long enough after At(0) for every policy in use here.
constexpr int kWarm = 60'000;

class DecisionTest : public testing::Test {
 protected:
  AheadDecision DecideOn(const Scene& scene, int ms) {
    return Decide(
        {.spec = hpa_.spec, .seen = scene.seen, .facts = scene.facts, .settling = settling_},
        memory_, At(ms));
  }
  /// Two pods, both with `milli` each, that pushed just now.
  AheadDecision DecideEach(int64_t milli, int ms = kWarm, int32_t replicas = 2) {
    std::vector<SeenPod> pods;
    for (int32_t i = 0; i < replicas; ++i) {
      pods.push_back({"web-" + std::to_string(i), milli, At(ms)});
    }
    return DecideOn(Scene(replicas, pods), ms);
  }

  kube::HpaObject hpa_ = WebHpa();
  Memory memory_{At(0)};
  bool settling_ = false;
};

TEST_F(DecisionTest, StepIsWhatTheControllerWouldWant) {
  const AheadDecision decision = DecideEach(40'000);
  EXPECT_EQ(decision.hold, Hold::kNone);
  EXPECT_EQ(decision.from, 2);
  EXPECT_EQ(decision.to, 8);
  EXPECT_EQ(decision.metric, 0U);
  EXPECT_EQ(decision.value_milli, 40'000);
  EXPECT_EQ(decision.pushed, At(kWarm));
}

TEST_F(DecisionTest, NothingIsDoneDownOrWithinTolerance) {
  for (const int64_t milli : {0, 1'000, 9'000, 10'000, 10'900}) {
    EXPECT_EQ(DecideEach(milli, kWarm, 4).hold, Hold::kNotAbove) << milli;
  }
}

TEST_F(DecisionTest, MaxReplicasIsNeverPassed) {
  EXPECT_EQ(DecideEach(1'000'000).to, 20);
  hpa_.spec.max_replicas = 2;
  EXPECT_EQ(DecideEach(1'000'000).hold, Hold::kUpLimit);
}

TEST_F(DecisionTest, ScaleUpPoliciesLimitTheStep) {
  using hpa::PolicyType;
  using hpa::SelectPolicy;
  const struct {
    std::vector<hpa::Policy> policies;
    SelectPolicy select;
    int32_t want;  // 2: none
  } cases[] = {
      {{{PolicyType::kPods, 3, 15}}, SelectPolicy::kMax, 5},
      {{{PolicyType::kPercent, 100, 15}}, SelectPolicy::kMax, 4},
      {{{PolicyType::kPods, 3, 15}, {PolicyType::kPercent, 100, 15}}, SelectPolicy::kMax, 5},
      {{{PolicyType::kPods, 3, 15}, {PolicyType::kPercent, 100, 15}}, SelectPolicy::kMin, 4},
      {{{PolicyType::kPods, 3, 15}}, SelectPolicy::kDisabled, 2},
  };
  for (const auto& c : cases) {
    memory_ = Memory(At(0));
    hpa_.spec.behavior->up.policies = c.policies;
    hpa_.spec.behavior->up.select = c.select;
    const AheadDecision decision = DecideEach(100'000);
    EXPECT_EQ(decision.to, c.want);
    EXPECT_EQ(decision.hold, c.want == 2 ? Hold::kUpLimit : Hold::kNone);
  }
}

TEST_F(DecisionTest, APeriodCountsWhatAnybodyChangedInIt) {
  hpa_.spec.behavior->up.policies = {{hpa::PolicyType::kPods, 4, 15}};
  memory_.OnChange(hpa_.spec, 2, 5, At(kWarm - 5'000));  // the controller's, or somebody's
  const AheadDecision decision = DecideEach(100'000, kWarm, 5);
  EXPECT_EQ(decision.hold, Hold::kNone);
  EXPECT_EQ(decision.to, 6) << "the period began with 2 replicas, and 4 more are allowed";
  memory_.OnChange(hpa_.spec, 5, 6, At(kWarm));
  EXPECT_EQ(DecideEach(100'000, kWarm + 2'000, 6).hold, Hold::kUpLimit);
  EXPECT_EQ(DecideEach(100'000, kWarm + 16'000, 6).to, 10);
}

TEST_F(DecisionTest, WithoutBehaviorItIsTheControllersCapOnceInFifteenSeconds) {
  hpa_.spec.behavior.reset();
  EXPECT_EQ(DecideEach(100'000, kWarm, 2).to, 4);
  EXPECT_EQ(DecideEach(100'000, kWarm, 8).to, 16);
  memory_.OnChange(hpa_.spec, 2, 4, At(kWarm));
  EXPECT_EQ(DecideEach(100'000, kWarm + 14'000, 4).hold, Hold::kUpLimit);
  EXPECT_EQ(DecideEach(100'000, kWarm + 16'000, 4).to, 8);
}

TEST_F(DecisionTest, AStabilizationWindowTakesTheLowestOfIt) {
  hpa_.spec.behavior->up.stabilization_window_seconds = 30;
  EXPECT_EQ(DecideEach(10'000, kWarm).hold, Hold::kNotAbove);
  EXPECT_EQ(DecideEach(40'000, kWarm + 10'000).hold, Hold::kStabilized);
  EXPECT_EQ(DecideEach(80'000, kWarm + 20'000).hold, Hold::kStabilized);
  const AheadDecision decision = DecideEach(80'000, kWarm + 31'000);
  EXPECT_EQ(decision.hold, Hold::kNone);
  EXPECT_EQ(decision.to, 8) << "what was wanted 21 s ago, not the 16 of now";
}

TEST_F(DecisionTest, NothingIsDoneBeforeChangesWereWatchedForAPeriod) {
  EXPECT_EQ(DecideEach(40'000, 14'000).hold, Hold::kWarmingUp);
  EXPECT_EQ(DecideEach(40'000, 15'100).hold, Hold::kNone);
  hpa_.spec.behavior->up.policies[0].period_seconds = 120;
  EXPECT_EQ(DecideEach(40'000, 119'000).hold, Hold::kWarmingUp);
  EXPECT_EQ(DecideEach(40'000, 121'000).hold, Hold::kNone);
}

TEST_F(DecisionTest, OneStepASecond) {
  memory_.OnStep(4, At(kWarm));
  const AheadDecision decision = DecideEach(40'000, kWarm + 600, 4);
  EXPECT_EQ(decision.hold, Hold::kRecentChange);
  EXPECT_EQ(decision.look_again, At(kWarm + 1'000));
  EXPECT_EQ(DecideEach(40'000, kWarm + 1'001, 4).hold, Hold::kNone);
}

TEST_F(DecisionTest, AfterAScaleDownItIsTheControllersTurn) {
  memory_.OnChange(hpa_.spec, 6, 2, At(kWarm));
  EXPECT_EQ(DecideEach(40'000, kWarm + 14'000).hold, Hold::kRecentDown);
  EXPECT_EQ(DecideEach(40'000, kWarm + 15'001).hold, Hold::kNone);
}

TEST_F(DecisionTest, ABreakOfFiveMinutesFollowsTwoUndoneSteps) {
  for (const int begin : {kWarm, kWarm + 30'000}) {
    memory_.OnStep(8, At(begin));
    memory_.OnChange(hpa_.spec, 2, 8, At(begin));
    memory_.OnChange(hpa_.spec, 8, 2, At(begin + 10'000));
  }
  EXPECT_EQ(memory_.undone(), 2U);
  EXPECT_EQ(DecideEach(40'000, kWarm + 300'000).hold, Hold::kBroken);
  EXPECT_EQ(DecideEach(40'000, kWarm + 341'000).hold, Hold::kNone);
}

TEST_F(DecisionTest, MissingTelemetryDampsAsForTheController) {
  // Two pods with 40 each, two that run and push nothing: 80 requests are for 8 pods, not for 16.
  Scene scene(4, {{"web-0", 40'000, At(kWarm)}, {"web-1", 40'000, At(kWarm)}});
  scene.seen.pods.push_back({.name = "web-2"});
  scene.seen.pods.push_back({.name = "web-3"});
  EXPECT_EQ(DecideOn(scene, kWarm).to, 8);
  // Of ten pods one with 15: the others count as idle, so there is nothing to do.
  Scene silent(10, {{"web-0", 15'000, At(kWarm)}});
  for (int i = 1; i < 10; ++i) silent.seen.pods.push_back({.name = "web-" + std::to_string(i)});
  EXPECT_EQ(DecideOn(silent, kWarm).hold, Hold::kNotAbove);
}

TEST_F(DecisionTest, WithoutAValueThereIsNoDecision) {
  Scene away(2, {});
  away.seen.pods = {{.name = "web-0"}, {.name = "web-1"}};
  away.seen.answers[0].error = "no fresh telemetry";
  EXPECT_EQ(DecideOn(away, kWarm).hold, Hold::kNoDecision);
  Scene partial(2, {{"web-0", 90'000, At(kWarm)}});
  partial.facts[0].partial = true;
  EXPECT_EQ(DecideOn(partial, kWarm).hold, Hold::kPartial);
}

TEST_F(DecisionTest, AMetricOfSomebodyElseNeitherHindersNorDecides) {
  hpa_.spec.metrics.push_back(
      {hpa::MetricType::kResource, hpa::TargetType::kUtilization, 80, "cpu"});
  hpa_.sources.resize(2);
  Scene scene(2, {{"web-0", 40'000, At(kWarm)}, {"web-1", 40'000, At(kWarm)}});
  scene.seen.answers.push_back({.error = "not asked"});
  scene.facts.push_back({.ours = false});
  EXPECT_EQ(DecideOn(scene, kWarm).to, 8);
  scene.facts[0].ours = false;
  EXPECT_EQ(DecideOn(scene, kWarm).hold, Hold::kNoMetricOfOurs);
}

TEST_F(DecisionTest, PodsThatPushWithinTheSecondAreWaitedFor) {
  // Both flush each second, web-0 600 ms before web-1.
  for (int s = 0; s < 2; ++s) {
    const int at = kWarm + s * 1'000;
    DecideOn(Scene(2, {{"web-0", 10'000, At(at)}, {"web-1", 10'000, At(at - 400)}}), at);
  }
  const Scene first(2,
                    {{"web-0", 100'000, At(kWarm + 2'000)}, {"web-1", 10'000, At(kWarm + 1'600)}});
  const AheadDecision waits = DecideOn(first, kWarm + 2'010);
  EXPECT_EQ(waits.hold, Hold::kGathering);
  EXPECT_EQ(waits.look_again, At(kWarm + 2'700)) << "when web-1 is due, and 100 ms";
  const Scene both(2,
                   {{"web-0", 100'000, At(kWarm + 2'000)}, {"web-1", 100'000, At(kWarm + 2'600)}});
  const AheadDecision step = DecideOn(both, kWarm + 2'610);
  EXPECT_EQ(step.hold, Hold::kNone);
  EXPECT_EQ(step.to, 20);
  EXPECT_EQ(step.pushed, At(kWarm + 2'000)) << "the time to the step counts from the first push";
}

TEST_F(DecisionTest, APodThatIsLateIsNotWaitedFor) {
  for (int s = 0; s < 2; ++s) {
    const int at = kWarm + s * 1'000;
    DecideOn(Scene(2, {{"web-0", 10'000, At(at)}, {"web-1", 10'000, At(at - 400)}}), at);
  }
  const Scene scene(2,
                    {{"web-0", 100'000, At(kWarm + 2'000)}, {"web-1", 10'000, At(kWarm + 1'600)}});
  EXPECT_EQ(DecideOn(scene, kWarm + 2'010).hold, Hold::kGathering);
  EXPECT_EQ(DecideOn(scene, kWarm + 2'700).to, 11);
}

TEST_F(DecisionTest, PodsThatPushEachFiveSecondsAreNotWaitedFor) {
  for (int s = 0; s < 2; ++s) {
    const int at = kWarm + s * 5'000;
    DecideOn(Scene(2, {{"web-0", 10'000, At(at)}, {"web-1", 10'000, At(at - 2'000)}}), at);
  }
  const Scene scene(2,
                    {{"web-0", 100'000, At(kWarm + 10'000)}, {"web-1", 10'000, At(kWarm + 8'000)}});
  const AheadDecision decision = DecideOn(scene, kWarm + 10'010);
  EXPECT_EQ(decision.hold, Hold::kNone);
  EXPECT_EQ(decision.to, 11);
}

TEST_F(DecisionTest, WhatNewPodsTookOverIsNotCountedTwice) {
  // Four pods had 30 each. Four more serve since a moment and say 15, the old ones still say 30.
  std::vector<SeenPod> pods;
  for (int i = 0; i < 4; ++i) pods.push_back({"old-" + std::to_string(i), 30'000, At(kWarm)});
  for (int i = 0; i < 4; ++i) {
    pods.push_back({"new-" + std::to_string(i), 15'000, At(kWarm + 500), true});
  }
  hpa_.spec.max_replicas = 40;
  EXPECT_EQ(DecideOn(Scene(8, pods), kWarm + 510).hold, Hold::kJoining);
  for (int i = 0; i < 4; ++i) pods[i] = {"old-" + std::to_string(i), 15'000, At(kWarm + 1'000)};
  const AheadDecision decision = DecideOn(Scene(8, pods), kWarm + 1'010);
  EXPECT_EQ(decision.hold, Hold::kNone);
  EXPECT_EQ(decision.to, 12);
}

TEST_F(DecisionTest, AnIdlePodThatGetsLoadIsNoNewOne) {
  DecideOn(Scene(2, {{"web-0", 0, At(kWarm)}, {"web-1", 0, At(kWarm)}}), kWarm);
  const Scene scene(2, {{"web-0", 90'000, At(kWarm + 5'000)}, {"web-1", 0, At(kWarm)}});
  EXPECT_EQ(DecideOn(scene, kWarm + 5'010).hold, Hold::kNone);
}

/// Two pods behind a sum that does not tell when each pushed.
class DecisionOnASumTest : public DecisionTest {
 protected:
  DecisionOnASumTest() {
    hpa_.spec.metrics[0] = {hpa::MetricType::kExternal, hpa::TargetType::kAverageValue, 10'000,
                            "q"};
    scene_.seen.pods = {{.name = "web-0"}, {.name = "web-1"}};
  }
  AheadDecision DecideSum(int64_t milli, int ms) {
    scene_.seen.answers[0].values = {milli};
    return DecideOn(scene_, ms);
  }

  Scene scene_{2, {}};
};

TEST_F(DecisionOnASumTest, WaitsWhilePodsBecomeReady) {
  settling_ = true;
  EXPECT_EQ(DecideSum(80'000, kWarm).hold, Hold::kJoining);
  EXPECT_EQ(DecideSum(80'000, kWarm + 5'000).hold, Hold::kJoining);
  settling_ = false;
  EXPECT_EQ(DecideSum(80'000, kWarm + 5'050).to, 8);
}

TEST_F(DecisionOnASumTest, WaitsASecondForThePodsThatPushAfterTheFirst) {
  DecideSum(20'000, kWarm);
  const AheadDecision first = DecideSum(50'000, kWarm + 300);
  EXPECT_EQ(first.hold, Hold::kGathering);
  EXPECT_EQ(first.look_again, At(kWarm + 300 + 1'100));
  EXPECT_EQ(DecideSum(80'000, kWarm + 900).hold, Hold::kGathering);
  const AheadDecision step = DecideSum(80'000, kWarm + 1'400);
  EXPECT_EQ(step.hold, Hold::kNone);
  EXPECT_EQ(step.to, 8);
  EXPECT_EQ(step.pushed, At(kWarm + 300)) << "the time since the push counts from the first";
}

TEST_F(DecisionOnASumTest, ARiseThatEndsWithinTheSecondIsNone) {
  DecideSum(50'000, kWarm);
  EXPECT_EQ(DecideSum(20'000, kWarm + 500).hold, Hold::kNotAbove);
  EXPECT_EQ(DecideSum(50'000, kWarm + 1'000).hold, Hold::kGathering);
}

TEST_F(DecisionTest, AFloodOfFlappingValuesNeverPassesTheLimits) {
  hpa_.spec.behavior->up.policies = {{hpa::PolicyType::kPods, 4, 15}};
  int32_t replicas = 2;
  int steps = 0;
  for (int ms = kWarm; ms < kWarm + 15'000; ms += 50) {
    const AheadDecision decision = DecideEach(ms % 100 == 0 ? 900'000 : 0, ms, replicas);
    if (decision.hold != Hold::kNone) continue;
    ++steps;
    EXPECT_GT(decision.to, replicas);
    memory_.OnStep(decision.to, At(ms));
    memory_.OnChange(hpa_.spec, replicas, decision.to, At(ms));
    replicas = decision.to;
  }
  EXPECT_EQ(replicas, 6);
  EXPECT_EQ(steps, 1);
}

struct GateCase {
  std::string name;
  std::string annotation;
  Mode process;
  Mode want;
  Hold hold;
};

TEST(GateTest, TheAnnotationAndTheProcessAgreeOnTheLesserOne) {
  const GateCase cases[] = {
      {"both on", "true", Mode::kOn, Mode::kOn, Hold::kNone},
      {"one HPA observed", "observe", Mode::kOn, Mode::kObserve, Hold::kNone},
      {"all observed", "true", Mode::kObserve, Mode::kObserve, Hold::kNone},
      {"process off", "true", Mode::kOff, Mode::kOff, Hold::kNotAsked},
      {"not wanted", "false", Mode::kOn, Mode::kOff, Hold::kNotAsked},
      {"another value", "yes", Mode::kOn, Mode::kOff, Hold::kBadAnnotation},
      {"empty", "", Mode::kOn, Mode::kOff, Hold::kBadAnnotation},
  };
  for (const GateCase& c : cases) {
    kube::HpaObject hpa = WebHpa();
    hpa.annotations[std::string(kAnnotation)] = c.annotation;
    const Gate gate = CheckHpa(hpa, c.process);
    EXPECT_EQ(gate.mode, c.want) << c.name;
    EXPECT_EQ(gate.hold, c.hold) << c.name;
  }
  kube::HpaObject plain = WebHpa();
  plain.annotations.clear();
  EXPECT_EQ(CheckHpa(plain, Mode::kOn).hold, Hold::kNotAsked);
}

TEST(GateTest, AnHpaThatItsControllerLeavesAloneIsLeftAlone) {
  kube::HpaObject hpa = WebHpa();
  hpa.deleting = true;
  EXPECT_EQ(CheckHpa(hpa, Mode::kOn).hold, Hold::kDeleting);
  hpa = WebHpa();
  hpa.conditions[0].status = "False";
  EXPECT_EQ(CheckHpa(hpa, Mode::kOn).hold, Hold::kInactive);
  hpa.conditions.clear();
  EXPECT_EQ(CheckHpa(hpa, Mode::kOn).hold, Hold::kInactive);
}

TEST(GateTest, WhatKedaPausesIsPaused) {
  const struct {
    std::string name;
    std::string value;
    bool paused;
  } cases[] = {{"paused", "true", true},
               {"paused", "false", false},
               {"paused-replicas", "3", true},
               {"paused-scale-out", "true", true},
               {"paused-scale-in", "true", false}};
  for (const auto& c : cases) {
    kube::HpaObject hpa = WebHpa();
    hpa.annotations["autoscaling.keda.sh/" + c.name] = c.value;
    EXPECT_EQ(CheckHpa(hpa, Mode::kOn).hold, c.paused ? Hold::kKedaPaused : Hold::kNone)
        << c.name << "=" << c.value;
  }
}

TEST(TargetTest, ATargetAtZeroPausedOrOutOfRangeIsLeftAlone) {
  const struct {
    int32_t replicas;
    bool paused;
    Hold want;
  } cases[] = {{4, false, Hold::kNone},          {4, true, Hold::kTargetPaused},
               {0, false, Hold::kZero},          {1, false, Hold::kOutsideRange},
               {21, false, Hold::kOutsideRange}, {20, false, Hold::kNone}};
  for (const auto& c : cases) {
    const Target target{.spec_replicas = c.replicas, .paused = c.paused};
    EXPECT_EQ(CheckTarget(WebHpa(), target), c.want) << c.replicas;
  }
}

}  // namespace
}  // namespace activescale::scaleahead
