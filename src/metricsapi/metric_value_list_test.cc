#include "metricsapi/metric_value_list.h"

#include <gtest/gtest.h>

#include <chrono>

#include <boost/json.hpp>

#include "base/json_text.h"
#include "metricsapi/status.h"

namespace activescale::metricsapi {
namespace {

using std::chrono::seconds;

metric::Quantity Milli(int64_t milli) { return metric::Quantity::FromMilli(milli); }

TEST(MetricValueListTest, V1Beta2IsExactlyWhatTheClientDecodes) {
  const base::WallTime time{seconds(1'700'000'000)};
  EXPECT_EQ(
      WriteMetricValueList(CustomMetricsVersion::kV1Beta2, "rps", {},
                           {{{"Pod", "v1", "shop", "web-0"}, time, Milli(3000)},
                            {{"Pod", "v1", "shop", "web-1"}, time, Milli(2500)}}),
      R"({"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta2","metadata":{},)"
      R"("items":[{"describedObject":{"kind":"Pod","namespace":"shop","name":"web-0",)"
      R"("apiVersion":"v1"},"metric":{"name":"rps"},"timestamp":"2023-11-14T22:13:20Z",)"
      R"("windowSeconds":0,"value":"3"},{"describedObject":{"kind":"Pod","namespace":"shop",)"
      R"("name":"web-1","apiVersion":"v1"},"metric":{"name":"rps"},)"
      R"("timestamp":"2023-11-14T22:13:20Z","windowSeconds":0,"value":"2500m"}]})"
      "\n");
}

TEST(MetricValueListTest, V1Beta1HasItsOwnNamesForNameWindowAndSelector) {
  const base::WallTime time{seconds(1'700'000'001)};
  EXPECT_EQ(
      WriteMetricValueList(CustomMetricsVersion::kV1Beta1, "rps", {},
                           {{{"Deployment", "apps/v1", "shop", "web"}, time, Milli(0)}}),
      R"({"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta1","metadata":{},)"
      R"("items":[{"describedObject":{"kind":"Deployment","namespace":"shop","name":"web",)"
      R"("apiVersion":"apps/v1"},"metricName":"rps","timestamp":"2023-11-14T22:13:21Z",)"
      R"("window":0,"value":"0","selector":null}]})"
      "\n");
}

TEST(MetricValueListTest, AnEmptyListHasItems) {
  EXPECT_EQ(
      WriteMetricValueList(CustomMetricsVersion::kV1Beta2, "rps", {}, {}),
      R"({"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta2","metadata":{},)"
      R"("items":[]})"
      "\n");
}

TEST(MetricValueListTest, RepeatsTheMetricSelectorAsALabelSelector) {
  const auto selector = metric::Selector::Parse("a!=x,b notin (y,z),!c");
  ASSERT_TRUE(selector);
  const boost::json::value want = boost::json::parse(R"({"matchExpressions":[
      {"key":"a","operator":"NotIn","values":["x"]},
      {"key":"b","operator":"NotIn","values":["y","z"]},
      {"key":"c","operator":"DoesNotExist"}]})");
  const std::vector<MetricValue> values = {{{"Pod", "v1", "n", "p"}, {}, Milli(1)}};
  const auto beta2 = boost::json::parse(
      WriteMetricValueList(CustomMetricsVersion::kV1Beta2, "rps", *selector, values));
  EXPECT_EQ(beta2.at("items").at(0).at("metric").at("selector"), want);
  const auto beta1 = boost::json::parse(
      WriteMetricValueList(CustomMetricsVersion::kV1Beta1, "rps", *selector, values));
  EXPECT_EQ(beta1.at("items").at(0).at("selector"), want);
}

TEST(MetricValueListTest, FormatsTimesInUtcWithoutFractions) {
  const struct {
    int64_t milliseconds;
    const char* text;
  } cases[] = {
      {0, "1970-01-01T00:00:00Z"},
      {951'782'399'999, "2000-02-28T23:59:59Z"},
      {951'782'400'000, "2000-02-29T00:00:00Z"},
      {4'102'444'800'000, "2100-01-01T00:00:00Z"},
      {-1, "1969-12-31T23:59:59Z"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(FormatRfc3339(base::WallTime(std::chrono::milliseconds(c.milliseconds))), c.text);
  }
}

// Any bytes must come out as JSON that a strict parser takes, and valid text unchanged.
TEST(JsonTextTest, EveryByteSequenceBecomesValidJson) {
  uint32_t state = 12345;
  const auto next = [&state] { return state = state * 1664525 + 1013904223; };
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const size_t size = (next() >> 16) % 12;
    // High bytes are likely, so that multi-byte characters and their faults are.
    for (size_t i = 0; i < size; ++i) {
      const uint32_t random = next() >> 8;
      text += static_cast<char>(random % 3 == 0 ? random >> 4 : 0x80 | (random >> 4));
    }
    std::string json;
    base::AppendJsonString(text, json);
    boost::system::error_code error;
    const auto value = boost::json::parse(json, error);
    ASSERT_FALSE(error) << json << ": " << error.message();
    if (base::IsUtf8(text)) {
      EXPECT_EQ(value.as_string(), text);
    }
  }
}

TEST(JsonTextTest, EscapesWhatJsonAsksFor) {
  std::string json;
  base::AppendJsonString("a\"b\\c\n\t\x01\x7f \xC3\xA9 \xF0\x9F\x98\x80 \xff", json);
  EXPECT_EQ(json, "\"a\\\"b\\\\c\\n\\t\\u0001\\u007f \xC3\xA9 \xF0\x9F\x98\x80 \xEF\xBF\xBD\"");
}

TEST(StatusTest, IsAMetaV1Status) {
  const auto response = StatusResponse({base::Code::kNotFound, "no \"x\""}, {"g", "pods", "*"});
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(response.body,
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"no \"x\"","reason":"NotFound","details":{"group":"g","kind":"pods",)"
            R"("name":"*"},"code":404})"
            "\n");
}

}  // namespace
}  // namespace activescale::metricsapi
