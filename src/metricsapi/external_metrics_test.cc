#include "metricsapi/external_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include <boost/json.hpp>

#include "metricsapi/testing/api_fixture.h"

namespace activescale::metricsapi {
namespace {

using testing::HasSubstr;

const std::string kExternalGroup = "/apis/external.metrics.k8s.io";
const std::string kVersion = kExternalGroup + "/v1beta1";

class ExternalMetricsTest : public testing::Test {
 protected:
  ExternalMetricsTest() {
    signals_.Set("inflight", {{"pod", "a"}}, 3);
    signals_.Set("inflight", {{"pod", "b"}}, 2.5);
    signals_.Configure(R"(signals:
- {name: Load, namespace: shop, expression: inflight, target: 4, labels: {team: web}}
- {name: total, expression: sum(inflight), target: 4}
- {name: nothing, expression: sum(absent_metric), target: 4}
- {name: negative, expression: sum(inflight) - 100, target: 4}
- {name: rescued, expression: sum(absent_metric), target: 4, fallback: 7.5}
)");
  }

  net::HttpResponse Get(const std::string& target) {
    net::HttpRequest request;
    request.method = "GET";
    request.target = target;
    std::optional<net::HttpResponse> answer;
    api_.Handle(std::move(request), [&](net::HttpResponse response) { answer = response; });
    EXPECT_TRUE(answer) << target;
    return answer.value_or(net::HttpResponse{});
  }

  ApiFixture fixture_;
  signal::SignalFixture& signals_ = fixture_.signals;
  signal::StandingMoments moments_{fixture_.clock};
  ExternalMetrics external_{[this] { return signals_.catalogue(); }, signals_.reader(), moments_,
                            [](auto work) { work(); }, fixture_.clock};
  ApiHandler api_{{fixture_.custom, fixture_.health, fixture_.metrics, fixture_.clock, nullptr,
                   "v1.2.3", &external_}};
};

TEST_F(ExternalMetricsTest, ASignalIsAListOfItsValues) {
  const net::HttpResponse answer = Get(kVersion + "/namespaces/shop/load");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(boost::json::parse(answer.body), boost::json::parse(R"({
    "kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1",
    "metadata": {}, "items": [
      {"metricName": "load", "metricLabels": {"pod": "a", "team": "web"},
       "timestamp": "1970-01-12T13:46:40Z", "value": "3"},
      {"metricName": "load", "metricLabels": {"pod": "b", "team": "web"},
       "timestamp": "1970-01-12T13:46:40Z", "value": "2500m"}]})"));
  EXPECT_THAT(Get(kVersion + "/namespaces/any/total").body,
              HasSubstr(R"("metricLabels":{},"timestamp":"1970-01-12T13:46:40Z","value":"5500m")"));
}

TEST_F(ExternalMetricsTest, AStandingQuestionIsAnsweredAsOfItsMomentAndNoOtherIs) {
  const auto target = ParseTarget(kVersion + "/namespaces/shop/total?labelSelector=");
  moments_.Stand(QuestionOf(*ParseExternalMetricsQuery(*target)), std::chrono::seconds(16));
  fixture_.clock.Advance(std::chrono::seconds(5));
  signals_.Set("inflight", {{"pod", "a"}}, 1);
  EXPECT_THAT(Get(kVersion + "/namespaces/shop/total").body,
              HasSubstr(R"("timestamp":"1970-01-12T13:46:40Z","value":"5500m")"));
  EXPECT_THAT(Get(kVersion + "/namespaces/any/total").body,
              HasSubstr(R"("timestamp":"1970-01-12T13:46:45Z","value":"3500m")"));
  std::optional<double> newest;
  external_.ReadValues(*ParseExternalMetricsQuery(*target),
                       [&](const auto& found) { newest = found->front().value; });
  EXPECT_EQ(newest, 3.5);
  fixture_.clock.Advance(std::chrono::seconds(11));
  EXPECT_THAT(Get(kVersion + "/namespaces/shop/total").body, HasSubstr(R"("value":"3500m")"));
}

TEST_F(ExternalMetricsTest, EveryOtherAnswerNamesItsCause) {
  const struct {
    std::string path;
    int status;
    std::string text;
  } cases[] = {
      {"/namespaces/shop/load?labelSelector=pod%3Db", 200, "2500m"},
      {"/namespaces/shop/load?labelSelector=pod+in+%28a%29%2Cteam", 200, "\"value\":\"3\""},
      {"/namespaces/shop/rescued", 200, "7500m"},
      {"/namespaces/shop/load?labelSelector=pod%3Dc", 404,
       "none of the 2 values of signal load has labels that match \\\"pod=c\\\""},
      {"/namespaces/shop/load?labelSelector=%3D%3D", 400, "labelSelector: "},
      {"/namespaces/shop/nothing", 404, "signal nothing: the expression has no value now"},
      {"/namespaces/shop/negative", 500, "signal negative: the expression gives -94.5"},
      {"/namespaces/other/load", 404,
       "there is no signal \\\"load\\\" for namespace other; there are total, nothing, negative, "
       "rescued"},
      {"/load", 404, "no signal has this path"},
      {"/namespaces/shop/load/more", 404, "no signal has this path"},
      {"/pods/x/load", 404, "no signal has this path"},
  };
  for (const auto& c : cases) {
    const net::HttpResponse answer = Get(kVersion + c.path);
    EXPECT_EQ(answer.status, c.status) << c.path << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(c.text)) << c.path;
  }
  signals_.Break("the store is away");
  EXPECT_EQ(Get(kVersion + "/namespaces/shop/load").status, 503);
}

// Case C1: an empty list of resources makes kubectl and helm fail for the whole cluster.
TEST_F(ExternalMetricsTest, DiscoveryIsNeverEmptyNorAsksForValues) {
  signals_.Break("the store is away");
  EXPECT_THAT(Get("/apis").body, HasSubstr("external.metrics.k8s.io/v1beta1"));
  EXPECT_THAT(Get(kExternalGroup).body, HasSubstr(R"("kind":"APIGroup")"));
  EXPECT_THAT(Get(kVersion).body,
              HasSubstr(R"({"name":"load","singularName":"","namespaced":true,)"
                        R"("kind":"ExternalMetricValueList","verbs":["get"]},{"name":"negative")"));
  signals_.Configure("signals:");
  const net::HttpResponse empty = Get(kVersion);
  EXPECT_EQ(empty.status, 200);
  EXPECT_THAT(empty.body, HasSubstr(R"("resources":[{"name":"externalmetrics")"));
  EXPECT_THAT(Get(kVersion + "/namespaces/shop/load").body, HasSubstr("none is configured for it"));
}

TEST_F(ExternalMetricsTest, IsNotServedUnlessAskedFor) {
  for (const std::string& path : {kExternalGroup, kVersion, kVersion + "/namespaces/shop/load"}) {
    EXPECT_EQ(fixture_.Ask("GET", path)->status, 404) << path;
  }
  EXPECT_THAT(fixture_.Ask("GET", "/apis")->body, testing::Not(HasSubstr("external")));
}

// The HPA lists: there is no object's name in the path.
TEST_F(ExternalMetricsTest, AsksForThePermissionToList) {
  class Recorder final : public AccessControl {
   public:
    void Check(const net::HttpRequest&, const RequestInfo& info, Decision done) override {
      asked = info;
      done(base::Fail(base::Code::kPermissionDenied, "no"));
    }
    RequestInfo asked;
  };
  Recorder recorder;
  ApiHandler api({fixture_.custom, fixture_.health, fixture_.metrics, fixture_.clock, &recorder,
                  "v1.2.3", &external_});
  net::HttpRequest request;
  request.method = "GET";
  request.target = kVersion + "/namespaces/shop/load";
  std::optional<net::HttpResponse> answer;
  api.Handle(std::move(request), [&](net::HttpResponse response) { answer = response; });
  EXPECT_EQ(answer->status, 403);
  EXPECT_EQ(recorder.asked.verb, "list");
  EXPECT_EQ(recorder.asked.group, "external.metrics.k8s.io");
  EXPECT_EQ(recorder.asked.resource, "load");
  EXPECT_EQ(recorder.asked.ns, "shop");
}

}  // namespace
}  // namespace activescale::metricsapi
