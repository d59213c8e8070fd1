#include "hpa/autoscaler.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace activescale::hpa {
namespace {

using std::chrono::seconds;

base::WallTime At(int second) { return base::WallTime(seconds(1'000'000 + second)); }

MetricSpec PodsMetric(int64_t target_milli) {
  return {MetricType::kPods, TargetType::kAverageValue, target_milli, "inbound_active_requests"};
}

HpaSpec SpecOf(std::vector<MetricSpec> metrics, int32_t min = 1, int32_t max = 100) {
  return {.min_replicas = min,
          .max_replicas = max,
          .metrics = std::move(metrics),
          .behavior = std::nullopt};
}

/// `replicas` ready pods, each with its share of `total_milli`.
Observation Evenly(int32_t replicas, int64_t total_milli) {
  Observation seen{.spec_replicas = replicas,
                   .status_replicas = replicas,
                   .pods = {},
                   .answers = {{}},
                   .selector_fault = ""};
  for (int32_t i = 0; i < replicas; ++i) {
    const std::string name = "web-" + std::to_string(i);
    seen.pods.push_back({.name = name});
    seen.answers[0].by_pod[name] = {.value_milli = total_milli / replicas};
  }
  return seen;
}

Observation Total(int32_t replicas, int64_t total_milli) {
  Observation seen = Evenly(replicas, 0);
  seen.answers[0] = {.error = std::nullopt, .by_pod = {}, .values = {total_milli}};
  return seen;
}

HpaSpec ExternalSpec(TargetType type) {
  return SpecOf({{MetricType::kExternal, type, 4000, "inflight"}});
}

TEST(AutoscalerTest, TwentyInFlightAtFourEachAreFiveReplicas) {
  struct Case {
    TargetType type;
    int32_t replicas;
    int32_t want;
  };
  const Case cases[] = {{TargetType::kAverageValue, 1, 5},
                        {TargetType::kValue, 1, 5},
                        {TargetType::kAverageValue, 3, 5},
                        {TargetType::kValue, 3, 15}};
  for (const Case& c : cases) {
    const HpaSpec spec = ExternalSpec(c.type);
    const Observation seen = Total(c.replicas, 20000);
    const Proposal proposal = ProposeReplicas({.spec = spec.metrics[0],
                                               .answer = seen.answers[0],
                                               .pods = seen.pods,
                                               .spec_replicas = c.replicas,
                                               .status_replicas = c.replicas,
                                               .tolerance = {},
                                               .now = At(0),
                                               .options = ControllerOptions{}});
    EXPECT_EQ(proposal.replicas, c.want) << c.replicas;
  }
}

TEST(AutoscalerTest, WithoutBehaviorTwoReplicasReachTwentyInFourSyncs) {
  Autoscaler autoscaler;
  const HpaSpec spec = SpecOf({PodsMetric(10000)}, 2, 20);
  int32_t replicas = 2;
  std::vector<int32_t> path;
  for (int sync = 0; sync < 4; ++sync) {
    replicas = autoscaler.Reconcile(spec, Evenly(replicas, 200000), At(15 * sync)).replicas;
    path.push_back(replicas);
  }
  EXPECT_EQ(path, (std::vector<int32_t>{4, 8, 16, 20}));
}

struct MissingCase {
  std::string name;
  std::vector<int64_t> totals;  // one a metric; -1: 404
  int32_t want;                 // from 4 replicas, target 10 each
  bool failed;
};

TEST(AutoscalerTest, MissingMetricsNeverScaleDown) {
  const MissingCase cases[] = {
      {"all missing", {-1, -1}, 4, true},
      {"one missing, one asks up", {-1, 80000}, 8, false},
      {"one missing, one asks down", {-1, 10000}, 4, true},
      {"all there, the largest wins", {50000, 80000}, 8, false},
  };
  for (const MissingCase& c : cases) {
    Autoscaler autoscaler;
    HpaSpec spec = SpecOf({});
    Observation seen = Evenly(4, 0);
    seen.answers.clear();
    for (const int64_t total : c.totals) {
      spec.metrics.push_back(PodsMetric(10000));
      seen.answers.push_back(total < 0 ? MetricAnswer{.error = "404"}
                                       : Evenly(4, total).answers[0]);
    }
    const Decision decision = autoscaler.Reconcile(spec, seen, At(0));
    EXPECT_EQ(decision.replicas, c.want) << c.name;
    EXPECT_EQ(decision.failed, c.failed) << c.name;
  }
}

TEST(AutoscalerTest, StabilizationHoldsTheMaximumOfItsWindow) {
  Autoscaler autoscaler;
  HpaSpec spec = SpecOf({PodsMetric(4000)}, 10, 50);
  spec.behavior = Behavior{};
  spec.behavior->down.stabilization_window_seconds = 1800;
  ASSERT_EQ(autoscaler.Reconcile(spec, Evenly(10, 120000), At(0)).replicas, 20);
  ASSERT_EQ(autoscaler.Reconcile(spec, Evenly(20, 120000), At(15)).replicas, 30);
  const Decision held = autoscaler.Reconcile(spec, Evenly(30, 40000), At(1800));
  EXPECT_EQ(held.replicas, 30);
  EXPECT_EQ(held.normalized->stabilization, Stabilization::kScaleDownStabilized);
  EXPECT_EQ(autoscaler.Reconcile(spec, Evenly(30, 40000), At(1816)).replicas, 10);
}

TEST(AutoscalerTest, TheWindowIsFiveMinutesByDefaultAndNoneAtZero) {
  HpaSpec spec = SpecOf({PodsMetric(4000)}, 1, 50);
  spec.behavior = Behavior{};
  Autoscaler by_default;
  ASSERT_EQ(by_default.Reconcile(spec, Evenly(5, 20000), At(0)).replicas, 5);
  EXPECT_EQ(by_default.Reconcile(spec, Evenly(5, 4000), At(299)).replicas, 5);
  EXPECT_EQ(by_default.Reconcile(spec, Evenly(5, 4000), At(301)).replicas, 1);
  spec.behavior->down.stabilization_window_seconds = 0;
  Autoscaler at_once;
  ASSERT_EQ(at_once.Reconcile(spec, Evenly(5, 20000), At(0)).replicas, 5);
  EXPECT_EQ(at_once.Reconcile(spec, Evenly(5, 4000), At(1)).replicas, 1);
}

TEST(AutoscalerTest, IdleNewPodOfARollingUpdateDoesNotScaleUp) {
  Autoscaler autoscaler;
  const HpaSpec spec = SpecOf({PodsMetric(10000)}, 1, 10);
  Observation seen = Evenly(2, 0);
  seen.spec_replicas = 1;
  EXPECT_EQ(autoscaler.Reconcile(spec, seen, At(0)).replicas, 1);
}

TEST(AutoscalerTest, ZeroReplicasDisableScalingUnlessTheGateAllowsIt) {
  Autoscaler autoscaler;
  const Decision decision =
      autoscaler.Reconcile(ExternalSpec(TargetType::kValue), Total(0, 20000), At(0));
  EXPECT_EQ(decision.replicas, 0);
  EXPECT_EQ(decision.active_reason, "ScalingDisabled");
}

TEST(GoInt32Test, WhatDoesNotFitIsTheSmallest) {
  EXPECT_EQ(GoInt32(2147483647.9), 2147483647);
  EXPECT_EQ(GoInt32(2147483648.0), INT32_MIN);
  EXPECT_EQ(GoInt32(-2147483648.5), INT32_MIN);
  EXPECT_EQ(GoInt32(std::numeric_limits<double>::quiet_NaN()), INT32_MIN);
  EXPECT_EQ(GoInt32(-3.9), -3);
}

}  // namespace
}  // namespace activescale::hpa
