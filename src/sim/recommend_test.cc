#include "sim/recommend.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace activescale::sim {
namespace {

/// A week of samples each five minutes; the first half at `low`, the second at `high`.
HistorySeries Week(double low, double high) {
  HistorySeries series;
  for (double at = 0; at <= 7 * 86400; at += 300) {
    series.samples.push_back({at, at < 3.5 * 86400 ? low : high});
  }
  return series;
}

RecommendInput LokiInput() {
  return {.high = {Week(20, 60)},
          .mid = {Week(30, 150)},
          .workers = 6,
          .busy_share = 0.75,
          .spec_replicas = 12,
          .current = std::nullopt,
          .service = {.latency = 2, .start = 10},
          .max_wait_seconds = 5};
}

// floor(0.75 × 6) = 4; mean in-flight 40 / 4 = 10; highest median 150 / 6 = 25.
TEST(RecommendTest, TheEstimatorsOfLokisQueriersByHand) {
  const auto r = EstimateFromHistory(LokiInput());
  ASSERT_TRUE(r.has_value()) << r.error().message;
  EXPECT_EQ(r->target.value, 4);
  EXPECT_EQ(r->min_replicas.value, 11);  // 40.01 / 4: the last sample is of the second half
  EXPECT_EQ(r->max_replicas.value, 25);
}

/// Days of one value each, a sample every six hours.
HistorySeries Days(const std::vector<double>& values) {
  HistorySeries series;
  for (size_t i = 0; i < 4 * values.size(); ++i) {
    series.samples.push_back({static_cast<double>(i) * 21600, values[i / 4]});
  }
  return series;
}

// Two schedulers. avg(avg_over_time) of 0.75: their means are (10+10+10+10+10+3+3)/7 = 8 and 88, so
// (8 + 88) / 2 = 48; 48 / 4 = 12. max(max_over_time) of 0.5: the highest of all samples, 181, over
// six workers is 30.17, so 31, unless spec.replicas is more.
TEST(RecommendTest, TheEstimatorsOverTwoSchedulersByHand) {
  RecommendInput input = LokiInput();
  input.high = {Days({10, 10, 10, 10, 10, 3, 3}), Days({88, 88, 88, 88, 88, 88, 88})};
  input.mid = {Days({1, 2, 3, 4, 5, 6, 7}), Days({20, 20, 181, 20, 20, 20, 20})};
  auto r = EstimateFromHistory(input);
  ASSERT_TRUE(r.has_value()) << r.error().message;
  EXPECT_EQ(r->target.value, 4);
  EXPECT_EQ(r->min_replicas.value, 12);
  EXPECT_EQ(r->max_replicas.value, 31);
  input.spec_replicas = 32;
  r = EstimateFromHistory(input);
  EXPECT_EQ(r->max_replicas.value, 32);
}

TEST(RecommendTest, FloorsAndPresentReplicasCount) {
  RecommendInput input = LokiInput();
  input.high = {Week(1, 2)};
  input.mid = {Week(1, 2)};
  auto r = EstimateFromHistory(input);
  EXPECT_EQ(r->min_replicas.value, 2);
  EXPECT_EQ(r->max_replicas.value, 20);
  input.spec_replicas = 31;
  r = EstimateFromHistory(input);
  EXPECT_EQ(r->max_replicas.value, 31);
  EXPECT_NE(r->max_replicas.reason.find("spec.replicas"), std::string::npos);
}

TEST(RecommendTest, TheBestSettingKeepsTheBoundAndCostsNoMore) {
  RecommendInput input = LokiInput();
  input.current = hpa::HpaSpec{
      .min_replicas = 20,
      .max_replicas = 50,
      .metrics = {{hpa::MetricType::kExternal, hpa::TargetType::kAverageValue, 3000, "m"}},
      .behavior = std::nullopt};
  const auto r = Recommend(input);
  ASSERT_TRUE(r->best_target.has_value());
  EXPECT_LE(r->best_target->value, 6);
  ASSERT_TRUE(r->current_pod_hours.has_value());
  EXPECT_LT(r->best_pod_hours, *r->current_pod_hours);
  const std::string text = RecommendationText(*r);
  EXPECT_NE(text.find("AverageValue"), std::string::npos);
  EXPECT_NE(RecommendationYaml(*r).find("stabilizationWindowSeconds"), std::string::npos);
}

TEST(RecommendTest, ThinHistoryIsWarnedAbout) {
  RecommendInput input = LokiInput();
  input.high[0].samples.resize(500);
  input.high[0].samples.erase(input.high[0].samples.begin() + 100,
                              input.high[0].samples.begin() + 200);
  input.current = hpa::HpaSpec{.min_replicas = 1, .max_replicas = 3, .metrics = {{}}};
  const auto r = EstimateFromHistory(input);
  ASSERT_TRUE(r.has_value());
  std::string all;
  for (const std::string& warning : r->warnings) all += warning + "\n";
  EXPECT_NE(all.find("1.7 of 7.0 days"), std::string::npos) << all;
  EXPECT_NE(all.find("1 gaps"), std::string::npos) << all;
  EXPECT_NE(all.find("maxReplicas (3)"), std::string::npos) << all;
}

TEST(RecommendTest, InputThatCannotBeUsedIsRefused) {
  struct Case {
    void (*spoil)(RecommendInput&);
    std::string want;
  };
  const Case cases[] = {{[](RecommendInput& i) { i.workers = 0; }, "workers"},
                        {[](RecommendInput& i) { i.high.clear(); }, "no series"},
                        {[](RecommendInput& i) { i.high[0].samples.resize(1); }, "two samples"},
                        {[](RecommendInput& i) { i.busy_share = 2; }, "busy share"},
                        {[](RecommendInput& i) { i.service.latency = 0; }, "latency"}};
  for (const Case& c : cases) {
    RecommendInput input = LokiInput();
    c.spoil(input);
    const auto r = Recommend(input);
    ASSERT_FALSE(r.has_value()) << c.want;
    EXPECT_NE(r.error().message.find(c.want), std::string::npos);
  }
}

}  // namespace
}  // namespace activescale::sim
