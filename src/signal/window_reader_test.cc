#include "signal/window_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "base/testing/fake_clock.h"
#include "promql/testing/fixed_source.h"
#include "series/sample.h"

namespace activescale::signal {
namespace {

using testing::HasSubstr;

constexpr int64_t kNow = 1'000'000'000;
const std::string kMetric = "inbound_active_requests";

WindowStatistic Stat(const std::string& window, const std::string& stat) {
  const auto parsed = WindowStatistic::Parse(window, stat);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *parsed;
}

class WindowReaderTest : public testing::Test {
 protected:
  /// Values of the last seconds, the newest last.
  void Add(const std::string& pod, const std::vector<double>& values) {
    std::vector<series::Sample> samples;
    for (size_t i = 0; i < values.size(); ++i) {
      samples.push_back({kNow - 1000 * static_cast<int64_t>(values.size() - 1 - i), values[i]});
    }
    source_.Add(metric::Labels({{"__name__", kMetric}, {"namespace", "shop"}, {"pod", pod}}),
                samples);
  }
  static std::vector<metric::PodKey> Pods(const std::vector<std::string>& names) {
    std::vector<metric::PodKey> pods;
    for (const std::string& name : names) pods.push_back({"shop", name});
    return pods;
  }

  base::FakeClock clock_;
  promql::FixedSource source_;
  WindowReader reader_{source_, clock_};
};

TEST_F(WindowReaderTest, GivesEachPodTheStatisticOfItsWindow) {
  Add("a", {100, 1, 2, 3, 4});
  Add("young", {7});
  const struct {
    std::string stat;
    double want;
  } cases[] = {{"max", 4},   {"min", 1},    {"avg", 2.5}, {"last", 4},
               {"p50", 2.5}, {"p75", 3.25}, {"p100", 4}};
  for (const auto& c : cases) {
    const auto values = reader_.OfEach(kMetric, Pods({"a", "young", "other"}), Stat("4s", c.stat));
    ASSERT_TRUE(values);
    EXPECT_EQ(values->at(0), c.want) << c.stat;
    EXPECT_EQ(values->at(1), 7) << c.stat;
    EXPECT_FALSE(values->at(2)) << c.stat;
  }
  EXPECT_EQ(reader_.OfEach(kMetric, Pods({"a"}), Stat("5s", "max"))->at(0), 100);
}

// Pods whose peaks fall on different moments have a smaller peak together.
TEST_F(WindowReaderTest, OfSumIsTheStatisticOfTheWorkloadAsAWhole) {
  Add("a", {5, 0, 5, 0});
  Add("b", {0, 5, 0, 6});
  EXPECT_EQ(reader_.OfSum(kMetric, Pods({"a", "b"}), Stat("4s", "max")), 6);
  EXPECT_EQ(reader_.OfSum(kMetric, Pods({"a", "b"}), Stat("4s", "min")), 5);
  EXPECT_EQ(reader_.OfSum(kMetric, Pods({"a", "b"}), Stat("4s", "p50")), 5);
  EXPECT_EQ(reader_.OfSum(kMetric, Pods({"b", "absent"}), Stat("4s", "max")), 6);
  const auto none = reader_.OfSum(kMetric, Pods({"absent"}), Stat("4s", "max"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, base::Code::kNotFound);
}

TEST_F(WindowReaderTest, APodThatFellSilentCountsUntilThen) {
  Add("a", {3, 3, 3, 3});
  Add("b", {4, 4, series::StaleMarker(), series::StaleMarker()});
  EXPECT_EQ(reader_.OfSum(kMetric, Pods({"a", "b"}), Stat("4s", "max")), 7);
  EXPECT_EQ(reader_.OfSum(kMetric, Pods({"a", "b"}), Stat("4s", "last")), 3);
  EXPECT_EQ(reader_.OfEach(kMetric, Pods({"b"}), Stat("4s", "last"))->at(0), 4);
}

TEST_F(WindowReaderTest, AWindowThatWasNotObservedWholeIsMissing) {
  Add("a", {1, 2, 3, 4});
  source_.set_observed_since(kNow - 3000);
  EXPECT_TRUE(reader_.OfEach(kMetric, Pods({"a"}), Stat("3s", "max")));
  for (const std::string window : {"4s", "2m"}) {
    const auto values = reader_.OfEach(kMetric, Pods({"a"}), Stat(window, "max"));
    ASSERT_FALSE(values);
    EXPECT_EQ(values.error().code, base::Code::kNotFound);
    EXPECT_THAT(values.error().message, HasSubstr("observed for 3s only"));
    EXPECT_FALSE(reader_.OfSum(kMetric, Pods({"a"}), Stat(window, "max")));
  }
}

// Case A10: short requests make a nervous sample; a window is close to the truth.
TEST_F(WindowReaderTest, ShortRequestsAverageToTheirConcurrency) {
  constexpr int kSeconds = 300;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> moment(0, kSeconds);
  std::vector<double> arrivals(50 * kSeconds);
  for (double& arrival : arrivals) arrival = moment(random);
  std::vector<double> samples;  // one a second; each request takes 20 ms
  for (int second = 1; second <= kSeconds; ++second) {
    samples.push_back(static_cast<double>(std::ranges::count_if(
        arrivals, [&](double arrival) { return arrival <= second && arrival > second - 0.020; })));
  }
  Add("a", samples);
  const auto value = [&](const std::string& window, const std::string& stat) {
    return reader_.OfEach(kMetric, Pods({"a"}), Stat(window, stat))->at(0).value_or(-1);
  };
  EXPECT_NEAR(value("300s", "avg"), 1.0, 0.3);
  EXPECT_LT(value("300s", "min"), 1);
  EXPECT_GT(value("300s", "max"), 2);
  double before = value("300s", "min");
  for (const std::string stat : {"p25", "p50", "p75", "p99", "max"}) {
    EXPECT_GE(value("300s", stat), before) << stat;
    before = value("300s", stat);
  }
  before = 0;
  for (const std::string window : {"1s", "10s", "60s", "300s"}) {
    EXPECT_GE(value(window, "max"), before) << window;
    before = value(window, "max");
  }
}

TEST_F(WindowReaderTest, RefusesWhatIsNoWindowOrStatistic) {
  for (const std::string window : {"", "2", "0s", "500ms", "61m", "2 m", "-1m"}) {
    EXPECT_FALSE(WindowStatistic::Parse(window, "max")) << window;
  }
  for (const std::string stat : {"", "median", "p", "p101", "p-1", "pNaN", "P75", "75"}) {
    EXPECT_FALSE(WindowStatistic::Parse("2m", stat)) << stat;
  }
  EXPECT_DOUBLE_EQ(Stat("90s", "p99.9").quantile, 0.999);
}

}  // namespace
}  // namespace activescale::signal
