#include "sim/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/summary.h"

namespace activescale::sim {
namespace {

hpa::HpaSpec PodsHpa(int64_t target_milli, int32_t min, int32_t max) {
  return {.min_replicas = min,
          .max_replicas = max,
          .metrics = {{hpa::MetricType::kPods, hpa::TargetType::kAverageValue, target_milli,
                       "inbound_active_requests"}},
          .behavior = std::nullopt};
}

Scenario Tc1() {
  Scenario scenario;
  scenario.load = *LoadShape::Named("tc1");
  scenario.service = {.latency = 0.2, .start = 1, .warmup = 5};
  scenario.hpa = PodsHpa(10000, 2, 20);
  scenario.step = 0.25;
  return scenario;
}

Summary RunOnce(const Scenario& scenario) {
  auto run = Simulate(scenario);
  EXPECT_TRUE(run.has_value()) << run.error().message;
  return Summarize(scenario, *run);
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

TEST(SimulationTest, TheSameSeedGivesTheSameRun) {
  for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kRequest}) {
    Scenario scenario = Tc1();
    scenario.load = *LoadShape::FromPoints({{0, 20}, {20, 20}, {20, 200}, {60, 200}});
    scenario.fidelity = fidelity;
    scenario.service.workers = 12;
    const Summary a = RunOnce(scenario);
    const Summary b = RunOnce(scenario);
    EXPECT_EQ(a.coverage, b.coverage);
    EXPECT_EQ(a.latency_p99, b.latency_p99);
    scenario.seed = 2;
    EXPECT_NE(a.scaling_start, RunOnce(scenario).scaling_start);
  }
}

// On a real controller the default behavior started after 9.4 s (median) and covered 82.8 %.
TEST(SimulationTest, Tc1ByPushStartsAndCoversAsOnARealController) {
  std::vector<double> starts;
  std::vector<double> coverages;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Scenario scenario = Tc1();
    scenario.seed = seed;
    const Summary summary = RunOnce(scenario);
    starts.push_back(summary.scaling_start);
    coverages.push_back(summary.coverage);
  }
  EXPECT_NEAR(Median(starts), 9.4, 2.0);
  EXPECT_NEAR(Median(coverages), 82.8, 1.5);
}

TEST(SimulationTest, PushIsAheadOfPrometheusWithKedaAndOfCpu) {
  const auto median_coverage = [](const SignalPath& path, const hpa::MetricSpec& metric) {
    std::vector<double> coverages;
    for (uint64_t seed = 1; seed <= 30; ++seed) {
      Scenario scenario = Tc1();
      scenario.seed = seed;
      scenario.path = path;
      scenario.hpa.metrics = {metric};
      coverages.push_back(RunOnce(scenario).coverage);
    }
    return Median(coverages);
  };
  using enum hpa::MetricType;
  const double push = median_coverage({}, {kPods, hpa::TargetType::kAverageValue, 10000, "m"});
  const double keda =
      median_coverage({.kind = PathKind::kPrometheusKeda, .scrape = 15, .polling = 30},
                      {kExternal, hpa::TargetType::kAverageValue, 10000, "m"});
  const double cpu = median_coverage(
      {.kind = PathKind::kCpu, .scrape = 15, .cpu_per_busy = 50, .cpu_request = 1000},
      {kResource, hpa::TargetType::kUtilization, 50, "cpu"});
  EXPECT_GT(push, keda);
  EXPECT_GT(keda, cpu);
}

/// Both paths over the same loads and phases: the summaries of each.
struct Ahead {
  std::vector<Summary> plain;
  std::vector<Summary> ahead;

  explicit Ahead(const std::string& load, double flush) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      Scenario scenario = Tc1();
      scenario.load = *LoadShape::Named(load);
      scenario.seed = seed;
      scenario.step = 0.1;
      scenario.path.flush = flush;
      scenario.hpa.behavior.emplace();
      scenario.hpa.behavior->up.policies = {{hpa::PolicyType::kPercent, 900, 15}};
      plain.push_back(RunOnce(scenario));
      scenario.path.kind = PathKind::kPushAhead;
      ahead.push_back(RunOnce(scenario));
    }
  }

  template <typename T>
  static std::vector<double> Each(const std::vector<Summary>& runs, T Summary::* figure) {
    std::vector<double> values;
    for (const Summary& run : runs) values.push_back(static_cast<double>(run.*figure));
    return values;
  }
};

TEST(SimulationTest, StepsAheadFollowTheFlushAndNotTheSync) {
  for (const double flush : {1.0, 5.0}) {
    const Ahead runs("tc1", flush);
    const auto starts = Ahead::Each(runs.ahead, &Summary::scaling_start);
    EXPECT_LE(Median(starts), flush == 1 ? 1.5 : 4.0);
    EXPECT_LE(std::ranges::max(starts), flush + 1.0);
    EXPECT_GT(Median(Ahead::Each(runs.plain, &Summary::scaling_start)), 5);
    EXPECT_GE(Median(Ahead::Each(runs.ahead, &Summary::coverage)), flush == 1 ? 96.5 : 95.5);
  }
}

TEST(SimulationTest, StepsAheadDoNotOvershoot) {
  for (const double flush : {1.0, 5.0}) {
    const Ahead runs("tc2", flush);
    EXPECT_LE(std::ranges::max(Ahead::Each(runs.ahead, &Summary::max_replicas)), 17) << flush;
    const auto turns = Ahead::Each(runs.ahead, &Summary::direction_changes);
    const auto plain_turns = Ahead::Each(runs.plain, &Summary::direction_changes);
    EXPECT_LE(Median(turns), Median(plain_turns)) << flush;
  }
}

// Six workers a pod and work of 100 ms: 60 a second a pod; 20 waiting beside 6 running are 26.
TEST(SimulationTest, InFlightIsQueuedAndRunning) {
  for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kRequest}) {
    Scenario scenario;
    scenario.load = *LoadShape::FromPoints({{0, 80}, {100, 80}});
    scenario.service = {.latency = 0.1, .workers = 6};
    scenario.hpa = PodsHpa(4000, 1, 1);
    scenario.fidelity = fidelity;
    const auto run = Simulate(scenario);
    const TimelinePoint& last = run->timeline.back();
    EXPECT_NEAR(last.in_flight - last.queued, 6, 0.001);
    // 20 a second too many, for 100 s.
    EXPECT_NEAR(last.queued, 2000, fidelity == Fidelity::kFlow ? 10 : 300);
  }
}

TEST(SimulationTest, FlowAndRequestsAgreeOnMeansUnderHeavyLoad) {
  Scenario scenario;
  scenario.load = *LoadShape::FromPoints({{0, 300}, {120, 300}});
  scenario.service = {.latency = 0.2, .latency_spread = 0.5, .workers = 10};
  scenario.hpa = PodsHpa(5000, 1, 50);
  scenario.step = 0.5;
  std::vector<double> replicas;
  for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kRequest}) {
    scenario.fidelity = fidelity;
    replicas.push_back(RunOnce(scenario).average_replicas);
  }
  EXPECT_NEAR(replicas[0], replicas[1], 0.1 * replicas[0]);
}

TEST(SimulationTest, AFullQueueRefuses) {
  Scenario scenario;
  scenario.load = *LoadShape::FromPoints({{0, 100}, {10, 100}});
  scenario.service = {.latency = 0.1, .workers = 1, .queue_limit = 5};
  scenario.hpa = PodsHpa(1000, 1, 1);
  for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kRequest}) {
    scenario.fidelity = fidelity;
    auto run = Simulate(scenario);
    EXPECT_NEAR(run->refused, 895, fidelity == Fidelity::kFlow ? 2 : 100);
  }
}

TEST(SimulationTest, ImpossibleScenariosAreRefusedByName) {
  struct Case {
    std::string name;
    void (*spoil)(Scenario&);
    std::string want;
  };
  const Case cases[] = {
      {"no load", [](Scenario& s) { s.load = {}; }, "no load"},
      {"latency", [](Scenario& s) { s.service.latency = 0; }, "latency"},
      {"step", [](Scenario& s) { s.step = 0; }, "step"},
      {"ttl", [](Scenario& s) { s.path.ttl = 1; }, "ttl"},
      {"max", [](Scenario& s) { s.hpa.max_replicas = 1; }, "maxReplicas"},
      {"metrics", [](Scenario& s) { s.hpa.metrics.clear(); }, "metrics"},
  };
  for (const Case& c : cases) {
    Scenario scenario = Tc1();
    c.spoil(scenario);
    const auto run = Simulate(scenario);
    ASSERT_FALSE(run.has_value()) << c.name;
    EXPECT_NE(run.error().message.find(c.want), std::string::npos) << run.error().message;
  }
}

}  // namespace
}  // namespace activescale::sim
