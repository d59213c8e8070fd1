#include "insight/collector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>

#include "insight/explain.h"
#include "insight/snapshot.h"
#include "insight/testing/situation.h"

namespace activescale::insight {
namespace {

/// An API server as a table from path to body; what is not in it is a 404.
class FakeApi {
 public:
  std::map<std::string, std::string> bodies;
  std::vector<std::string> asked;

  [[nodiscard]] GetJson Get() {
    return [this](const std::string& path) -> GetJson::result_type {
      asked.push_back(path);
      const auto body = bodies.find(path);
      if (body != bodies.end()) return boost::json::parse(body->second).as_object();
      return std::unexpected(
          kube::ApiError{{base::Code::kNotFound, "GET " + path + ": 404"}, 404, {}, {}});
    };
  }
};

std::string HpaJson(std::string_view metrics) {
  return fmt::format(
      R"({{"metadata":{{"namespace":"shop","name":"web","annotations":{{"note":"hunter2","activescale.io/scale-ahead":"observe"}}}},)"
      R"("spec":{{"scaleTargetRef":{{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}},)"
      R"("minReplicas":1,"maxReplicas":9,"metrics":[{}]}}}})",
      metrics);
}

constexpr std::string_view kHpaPath =
    "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web";
constexpr std::string_view kApps =
    R"({"resources":[{"name":"deployments/scale","kind":"Scale"},{"name":"deployments",)"
    R"("kind":"Deployment"}]})";

FakeApi WithMetrics(std::string_view metrics) {
  FakeApi api;
  api.bodies[std::string(kHpaPath)] = HpaJson(metrics);
  api.bodies["/apis/apps/v1"] = kApps;
  api.bodies["/apis/apps/v1/namespaces/shop/deployments/web/scale"] =
      R"json({"spec":{"replicas":2},"status":{"replicas":2,"selector":"app=web,tier in (a,b)"}})json";
  api.bodies["/apis/custom.metrics.k8s.io"] = R"({"preferredVersion":{"version":"v1beta2"}})";
  return api;
}

TEST(CollectorTest, AsksWhatTheControllerAsks) {
  struct Case {
    std::string metric;
    std::string want;
  };
  const std::string custom = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/";
  const Case cases[] = {
      {PodsMetric("5"),
       custom +
           "pods/%2A/inbound_active_requests?labelSelector=app%3Dweb%2Ctier%20in%20%28a%2Cb%29"},
      {R"({"type":"Pods","pods":{"metric":{"name":"m","selector":{"matchLabels":{"port":"80"},)"
       R"("matchExpressions":[{"key":"tls","operator":"Exists"}]}},)"
       R"("target":{"type":"AverageValue","averageValue":"5"}}})",
       custom + "pods/%2A/m?labelSelector=app%3Dweb%2Ctier%20in%20%28a%2Cb%29&"
                "metricLabelSelector=port%3D80%2Ctls"},
      {R"({"type":"Object","object":{"metric":{"name":"m"},"describedObject":{"apiVersion":"apps/v1",)"
       R"("kind":"Deployment","name":"peer"},"target":{"type":"Value","value":"5"}}})",
       custom + "deployments.apps/peer/m?"},
      {R"({"type":"Object","object":{"metric":{"name":"m"},"describedObject":{"apiVersion":"v1",)"
       R"("kind":"Namespace","name":"elsewhere"},"target":{"type":"Value","value":"5"}}})",
       custom + "metrics/m?"},
      {ExternalMetric("Value", "5"),
       "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/inflight?labelSelector="},
      {R"({"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization",)"
       R"("averageUtilization":50}}})",
       "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?labelSelector=app%3Dweb%2Ctier%20in%20"
       "%28a%2Cb%29"}};
  for (const Case& c : cases) {
    FakeApi api = WithMetrics(c.metric);
    api.bodies
        ["/api/v1/namespaces/shop/pods?limit=500&labelSelector=app%3Dweb%2Ctier%20in%20"
         "%28a%2Cb%29"] = R"({"items":[]})";
    const auto text = Collect(api.Get(), "shop", "web", base::WallTime());
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(std::ranges::count(api.asked, c.want), 1) << fmt::format("{}", api.asked);
    const auto snapshot = ReadSnapshot(*text);
    ASSERT_TRUE(snapshot) << snapshot.error().message;
    EXPECT_EQ(snapshot->seen.answers[0].error, "GET " + c.want + ": 404");
  }
}

TEST(CollectorTest, PodsComeInPagesAndWithoutWhatNobodyNeeds) {
  FakeApi api = WithMetrics(PodsMetric("5"));
  const std::string pods =
      "/api/v1/namespaces/shop/pods?limit=500&labelSelector=app%3Dweb%2Ctier%20in%20%28a%2Cb%29";
  api.bodies[pods] =
      R"({"metadata":{"continue":"n+2"},"items":[{"metadata":{"namespace":"shop","name":"web-0",)"
      R"("annotations":{"token":"hunter2"}},"spec":{"containers":[{"name":"app","env":[{"name":"P",)"
      R"("value":"hunter2"}]}]},"status":{"phase":"Running"}}]})";
  api.bodies[pods + "&continue=n%2B2"] =
      R"({"items":[{"metadata":{"namespace":"shop","name":"web-1"},"status":{"phase":"Pending"}}]})";
  const auto text = Collect(api.Get(), "shop", "web", base::WallTime());
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->find("hunter2"), std::string::npos) << *text;
  const auto snapshot = ReadSnapshot(*text);
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  ASSERT_EQ(snapshot->seen.pods.size(), 2U);
  EXPECT_EQ(snapshot->seen.pods[1].phase, hpa::PodPhase::kPending);
}

TEST(CollectorTest, StepsAheadAreTold) {
  FakeApi api = WithMetrics(PodsMetric("5"));
  api.bodies
      ["/api/v1/namespaces/shop/pods?limit=500&labelSelector=app%3Dweb%2Ctier%20in%20"
       "%28a%2Cb%29"] = R"({"items":[]})";
  api.bodies
      ["/api/v1/namespaces/shop/events?fieldSelector=involvedObject.kind%3D"
       "HorizontalPodAutoscaler%2CinvolvedObject.name%3Dweb"] =
      R"({"items":[{"reason":"WouldScaleAhead","message":"2 -> 6 replicas","lastTimestamp":null,)"
      R"("eventTime":"2026-11-30T06:00:01.250000Z"},{"reason":"SuccessfulRescale","message":"New )"
      R"(size: 6; reason: above","lastTimestamp":"2026-11-30T06:00:09Z","eventTime":null}]})";
  const auto text = Collect(api.Get(), "shop", "web", base::WallTime());
  ASSERT_TRUE(text) << text.error().message;
  const auto snapshot = ReadSnapshot(*text);
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  EXPECT_EQ(snapshot->ahead, "observe");
  ASSERT_EQ(snapshot->steps.size(), 1U);
  const std::string told = ExplanationText(*snapshot, Explain(*snapshot, std::nullopt));
  EXPECT_NE(told.find("activescale.io/scale-ahead is \"observe\"\n"
                      "  2026-11-30T06:00:01Z WouldScaleAhead: 2 -> 6 replicas\n"),
            std::string::npos)
      << told;
}

TEST(CollectorTest, WithoutHpaScaleOrPodsThereIsNothingToExplain) {
  for (const std::string& missing :
       {std::string(kHpaPath), std::string("/apis/apps/v1"),
        std::string("/apis/apps/v1/namespaces/shop/deployments/web/scale")}) {
    FakeApi api = WithMetrics(PodsMetric("5"));
    api.bodies.erase(missing);
    const auto text = Collect(api.Get(), "shop", "web", base::WallTime());
    ASSERT_FALSE(text);
    EXPECT_NE(text.error().message.find(missing), std::string::npos) << text.error().message;
  }
  FakeApi api = WithMetrics(PodsMetric("5"));
  api.bodies["/apis/apps/v1"] = R"({"resources":[]})";
  const auto unknown = Collect(api.Get(), "shop", "web", base::WallTime());
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("no kind Deployment in apps/v1"), std::string::npos);
}

}  // namespace
}  // namespace activescale::insight
