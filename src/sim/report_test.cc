#include "sim/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>

#include "sim/simulation.h"

namespace activescale::sim {
namespace {

std::vector<ReportedRun> TwoRuns() {
  std::vector<ReportedRun> runs;
  for (const std::string name : {"push", "<b>\"&\\"}) {
    Scenario scenario;
    scenario.name = name;
    scenario.load = *LoadShape::Named("tc1");
    scenario.hpa = {.min_replicas = 2,
                    .max_replicas = 20,
                    .metrics = {{.target = 10000, .name = "m"}},
                    .behavior = std::nullopt};
    Run run = *Simulate(scenario);
    const Summary summary = Summarize(scenario, run);
    runs.push_back({std::move(scenario), std::move(run), summary});
  }
  return runs;
}

TEST(ReportTest, TheTableHasAColumnARunAndNeverForWhatDidNotHappen) {
  auto runs = TwoRuns();
  runs[0].summary.time_to_max = -1;
  const std::string table = TextTable(runs);
  EXPECT_EQ(std::ranges::count(table, '\n'), 17);
  EXPECT_NE(table.find("time to most replicas (s)          never"), std::string::npos) << table;
}

TEST(ReportTest, JsonParsesWhateverARunIsCalled) {
  const auto json = boost::json::parse(Json(TwoRuns()));
  const auto& runs = json.at("runs").as_array();
  ASSERT_EQ(runs.size(), 2);
  EXPECT_EQ(runs[1].at("name").as_string(), "<b>\"&\\");
  EXPECT_EQ(runs[0].at("summary").at("max_replicas").to_number<int>(), 20);
}

TEST(ReportTest, TheCsvHasALineAStep) {
  const auto runs = TwoRuns();
  const std::string csv = TimelineCsv(runs[0]);
  EXPECT_EQ(std::ranges::count(csv, '\n'), 301);
  EXPECT_TRUE(csv.starts_with("time,qps,in_flight,queued,latency,desired,ready,serving\n1,100,"));
}

TEST(ReportTest, ThePlotFitsTheTerminal) {
  const std::string plot = TerminalPlot(TwoRuns()[0], 80);
  EXPECT_EQ(std::ranges::count(plot, '\n'), 6);
  EXPECT_NE(plot.find("load (req/s)       1000"), std::string::npos) << plot;
}

TEST(ReportTest, ThePageEscapesNamesAndNeedsNothingElse) {
  const std::string page = HtmlReport(TwoRuns());
  EXPECT_NE(page.find("&lt;b&gt;&quot;&amp;"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);
  size_t plots = 0;
  for (size_t at = page.find("<svg"); at != std::string::npos; at = page.find("<svg", at + 1)) {
    ++plots;
  }
  EXPECT_EQ(plots, 5);
}

}  // namespace
}  // namespace activescale::sim
