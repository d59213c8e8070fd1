#include "sim/load_shape.h"

#include <gtest/gtest.h>

#include <string>

namespace activescale::sim {
namespace {

TEST(LoadShapeTest, NamedShapesHaveTheirLengthAndPeak) {
  struct Case {
    std::string name;
    double seconds;
    double peak;
  };
  const Case cases[] = {
      {"tc1", 300, 1000}, {"tc2", 540, 800}, {"k6-loki", 420, 100}, {"diurnal", 604800, 1000}};
  for (const Case& c : cases) {
    const auto shape = LoadShape::Named(c.name);
    ASSERT_TRUE(shape.has_value());
    EXPECT_EQ(shape->duration_seconds(), c.seconds) << c.name;
    EXPECT_NEAR(shape->max_qps(), c.peak, 1) << c.name;
  }
  EXPECT_FALSE(LoadShape::Named("tc3").has_value());
}

TEST(LoadShapeTest, AStepIsAStepAndALineIsALine) {
  const auto tc1 = *LoadShape::Named("tc1");
  EXPECT_EQ(tc1.QpsAt(59.9), 100);
  EXPECT_EQ(tc1.QpsAt(60), 1000);
  const auto k6 = *LoadShape::Named("k6-loki");
  EXPECT_DOUBLE_EQ(k6.QpsAt(60), 27.5);
  // Grafana's test: 5 to 50 in 2 min, 1 min at 50, twice to 100 and back in 30 s each, 0 in 2 min.
  const std::pair<double, double> points[] = {{0, 5},    {120, 50},  {180, 50}, {210, 100},
                                              {240, 50}, {270, 100}, {300, 50}, {420, 0}};
  for (const auto& [at, users] : points) EXPECT_DOUBLE_EQ(k6.QpsAt(at), users) << at;
}

TEST(LoadShapeTest, CsvIsReadOrRefusedWithItsLine) {
  struct Case {
    std::string text;
    std::string error;  // "" if it is to be read
  };
  const Case cases[] = {
      {"time,qps\n0,1\n10,2\n", ""},
      {"time,inflight\r\n2026-01-01T00:00:00Z,4\r\n2026-01-01T00:00:10.5Z,8\r\n", ""},
      {"", "no rows"},
      {"time,qps\n", "no rows"},
      {"t,q\n0,1\n", "line 1"},
      {"time,qps\n5,1\n4,1\n", "line 3"},
      {"time,qps\n0,-1\n", "line 2, column 2"},
      {"time,qps\n0,many\n", "line 2, column 2"},
      {"time,qps\nnoon,1\n", "line 2, column time"},
      {"time,qps\n0 1\n", "no comma"},
      {"time,qps\n0,1\n1,1\n2,1\n60,1\n61,1\n", "line 5: a gap of 58 s"},
      {"time,qps\n0,nan\n", "line 2, column 2"},
  };
  for (const Case& c : cases) {
    const auto shape = LoadShape::FromCsv(c.text, 0.5);
    EXPECT_EQ(shape.has_value(), c.error.empty()) << c.text;
    if (!shape) {
      EXPECT_NE(shape.error().message.find(c.error), std::string::npos) << shape.error().message;
    }
  }
  const auto in_flight = LoadShape::FromCsv(cases[1].text, 0.5);
  EXPECT_EQ(in_flight->QpsAt(0), 8);
  EXPECT_EQ(in_flight->duration_seconds(), 10.5);
}

}  // namespace
}  // namespace activescale::sim
