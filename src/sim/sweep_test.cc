#include "sim/sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/simulation.h"

namespace activescale::sim {
namespace {

TEST(SweepTest, AxesAreReadOrRefused) {
  struct Case {
    std::string text;
    std::vector<size_t> sizes;  // empty: refused
  };
  const Case cases[] = {{"target=2..12", {11}},
                        {"target=2..12,window=0..1800/300", {11, 7}},
                        {"window=0..1800", {11}},
                        {"min=2|4|8,max=20", {3, 1}},
                        {"", {}},
                        {"size=2", {}},
                        {"target", {}},
                        {"target=12..2", {}},
                        {"target=1..2/0", {}},
                        {"target=a", {}}};
  for (const Case& c : cases) {
    const auto axes = ParseSweep(c.text);
    EXPECT_EQ(axes.has_value(), !c.sizes.empty()) << c.text;
    for (size_t i = 0; axes && i < c.sizes.size(); ++i) {
      EXPECT_EQ((*axes)[i].values.size(), c.sizes[i]) << c.text;
    }
  }
}

TEST(SweepTest, EveryCombinationIsAScenarioAndALine) {
  Scenario base;
  base.load = *LoadShape::Named("tc1");
  base.hpa = {.min_replicas = 2,
              .max_replicas = 20,
              .metrics = {{.target = 10000}},
              .behavior = std::nullopt};
  const auto axes = *ParseSweep("target=5|10|20,window=0|300");
  const auto points = *ExpandSweep(base, axes);
  ASSERT_EQ(points.size(), 6);
  EXPECT_EQ(points[3].scenario.hpa.metrics[0].target, 10000);
  EXPECT_EQ(points[3].scenario.hpa.behavior->down.stabilization_window_seconds, 300);
  std::vector<SweepResult> results;
  for (const SweepPoint& point : points) {
    auto run = *Simulate(point.scenario);
    results.push_back({point.values, Summarize(point.scenario, run)});
  }
  EXPECT_GT(results[0].summary.pod_hours, results[4].summary.pod_hours);
  EXPECT_EQ(std::ranges::count(SweepTable(axes, results), '\n'), 7);
  EXPECT_NE(SweepHtml(axes, results).find("hsl("), std::string::npos);
  EXPECT_FALSE(ExpandSweep(base, *ParseSweep("target=1..200/1,window=0..200/1")).has_value());
}

}  // namespace
}  // namespace activescale::sim
