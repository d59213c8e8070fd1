#include "sim/prometheus.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace activescale::sim {
namespace {

std::string Matrix(std::string_view series) {
  return R"({"status":"success","data":{"resultType":"matrix","result":[)" + std::string(series) +
         "]}}";
}

TEST(PrometheusTest, ALongSpanIsAskedInPartsWithoutGapOrOverlap) {
  const RangeQuery query{.url = "http://p:9090/prometheus/",
                         .query = "sum(x{q=\"0.75\"})",
                         .start = 0,
                         .end = 1'200'000,
                         .step = 60};
  const auto urls = RangeUrls(query);
  ASSERT_TRUE(urls) << urls.error().message;
  ASSERT_EQ(urls->size(), 3U);
  const std::string root =
      "http://p:9090/prometheus/api/v1/query_range?query=sum%28x%7Bq%3D%220.75%22%7D%29";
  EXPECT_EQ((*urls)[0], root + "&start=0&end=599940&step=60");
  EXPECT_EQ((*urls)[1], root + "&start=600000&end=1199940&step=60");
  EXPECT_EQ((*urls)[2], root + "&start=1200000&end=1200000&step=60");
}

TEST(PrometheusTest, AnswersArePutTogetherByLabels) {
  RangeAnswers answers;
  ASSERT_TRUE(answers.Add(200, Matrix(R"({"metric":{"pod":"a"},"values":[[0,"1"],[60,"2.5"]]},)"
                                      R"({"metric":{"pod":"b"},"values":[[60,"NaN"]]})")));
  ASSERT_TRUE(answers.Add(200, Matrix(R"({"metric":{"pod":"b"},"values":[[120,"7"]]},)"
                                      R"({"metric":{"pod":"a"},"values":[[120,"3"]]})")));
  const auto series = std::move(answers).Take();
  ASSERT_TRUE(series);
  ASSERT_EQ(series->size(), 2U);
  EXPECT_EQ((*series)[0].samples.size(), 3U);
  ASSERT_EQ((*series)[1].samples.size(), 1U);
  const HistorySeries sum = SumByTime(*series);
  ASSERT_EQ(sum.samples.size(), 3U);
  EXPECT_EQ(sum.samples[1].value, 2.5);
  EXPECT_EQ(sum.samples[2].value, 10);
}

TEST(PrometheusTest, WhatCannotBeUsedIsSaid) {
  const std::pair<std::string, std::string_view> bodies[] = {
      {"<html>", "no JSON object"},
      {R"({"status":"error","error":"parse error at char 5"})", "parse error at char 5"},
      {R"({"status":"success","data":{"resultType":"vector","result":[]}})", "no matrix"},
      {Matrix(R"({"metric":{},"values":[[0,"-1"]]})"), "below 0"},
      {Matrix(R"({"metric":{},"values":[[0]]})"), "no pair"},
      {Matrix(R"({"metric":{},"values":[[0,"x"]]})"), "the value \"x\""}};
  for (const auto& [body, want] : bodies) {
    RangeAnswers answers;
    const auto added = answers.Add(400, body);
    ASSERT_FALSE(added) << body;
    EXPECT_NE(added.error().message.find(want), std::string::npos) << added.error().message;
  }
  RangeAnswers none;
  ASSERT_TRUE(none.Add(200, Matrix("")));
  EXPECT_EQ(std::move(none).Take().error().code, base::Code::kNotFound);
  for (const RangeQuery& query :
       {RangeQuery{.url = "p:9090", .query = "x"}, RangeQuery{.url = "http://p", .query = ""},
        RangeQuery{.url = "http://user:hunter2@p", .query = "x"}}) {
    const auto urls = RangeUrls(query);
    ASSERT_FALSE(urls);
    EXPECT_EQ(urls.error().message.find("hunter2"), std::string::npos);
  }
}

}  // namespace
}  // namespace activescale::sim
