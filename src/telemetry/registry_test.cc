#include "telemetry/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace activescale::telemetry {
namespace {

using ::testing::HasSubstr;

TEST(RegistryTest, RendersPrometheusTextWithHelpTypeAndLabels) {
  Registry registry;
  registry.AddCounter("activescale_refused_total", "Refused.", {{"reason", "nan"}}).Increment(2);
  registry.AddGauge("activescale_streams", "Open streams.").Set(3);
  registry.AddHistogram("activescale_seconds", "Time.", {0.1, 1}).Observe(0.5);
  const std::string text = registry.Render();
  EXPECT_THAT(text, HasSubstr("# HELP activescale_refused_total Refused.\n"
                              "# TYPE activescale_refused_total counter\n"
                              "activescale_refused_total{reason=\"nan\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("activescale_streams 3\n"));
  EXPECT_THAT(text, HasSubstr("activescale_seconds_bucket{le=\"0.1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("activescale_seconds_bucket{le=\"1\"} 1\n"));
}

TEST(RegistryTest, TheSameNameAndLabelsAreTheSameHandle) {
  Registry registry;
  Counter& first = registry.AddCounter("activescale_x_total", "X.", {{"a", "b"}});
  EXPECT_EQ(&first, &registry.AddCounter("activescale_x_total", "Other help.", {{"a", "b"}}));
  EXPECT_NE(&first, &registry.AddCounter("activescale_x_total", "X.", {{"a", "c"}}));
  const std::string text = registry.Render();
  EXPECT_THAT(text, HasSubstr("# HELP activescale_x_total X.\n"));
  EXPECT_EQ(text.find("# TYPE activescale_x_total"), text.rfind("# TYPE activescale_x_total"));
}

TEST(RegistryTest, AGaugeThatWasRemovedIsNotRenderedAndMayComeBack) {
  Registry registry;
  registry.AddGauge("activescale_x", "X.", {{"a", "b"}}).Set(1);
  Gauge& other = registry.AddGauge("activescale_x", "X.", {{"a", "c"}});
  registry.RemoveGauge("activescale_x", other);
  EXPECT_THAT(registry.Render(), testing::Not(HasSubstr("a=\"c\"")));
  EXPECT_THAT(registry.Render(), HasSubstr("activescale_x{a=\"b\"} 1\n"));
  EXPECT_EQ(registry.AddGauge("activescale_x", "X.", {{"a", "c"}}).Value(), 0);
}

TEST(RegistryTest, RefreshRunsAtEachScrape) {
  Registry registry;
  Gauge& gauge = registry.AddGauge("activescale_pods", "Pods.");
  int pods = 0;
  registry.AddRefresh([&gauge, &pods] { gauge.Set(++pods); });
  EXPECT_THAT(registry.Render(), HasSubstr("activescale_pods 1\n"));
  EXPECT_THAT(registry.Render(), HasSubstr("activescale_pods 2\n"));
}

}  // namespace
}  // namespace activescale::telemetry
