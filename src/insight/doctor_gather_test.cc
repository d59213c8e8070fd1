#include "insight/doctor_gather.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>

#include "insight/doctor.h"

namespace activescale::insight {
namespace {

namespace json = boost::json;

/// A cluster that answers from a table of paths without queries; all else is 404. Reviews allow
/// everything but `denied`.
class FakeCluster {
 public:
  void Set(const std::string& path, const std::string& text) { answers_[path] = text; }
  void Deny(const std::string& resource) { denied_ = resource; }

  [[nodiscard]] ClusterReader Reader() {
    return {.get = [this](const std::string& path) { return Get(path); },
            .post = [this](const std::string&, const std::string& body) { return Review(body); },
            .text = [this](const std::string& path) { return Text(path); },
            .fetch = [this](const std::string& url) { return Text(url); }};
  }

 private:
  [[nodiscard]] kube::ApiResult<json::object> Get(const std::string& path) const {
    const auto found = answers_.find(path.substr(0, path.find('?')));
    if (found == answers_.end()) {
      // Of a metric of pods there may be no telemetry.
      const bool metric = path.find("/pods/%2A/") != std::string::npos;
      const std::string message = metric ? "no fresh telemetry" : path + " not found";
      return std::unexpected(kube::ApiError{{base::Code::kNotFound, message}, 404, "NotFound", {}});
    }
    return json::parse(found->second).as_object();
  }
  [[nodiscard]] kube::ApiResult<json::object> Review(const std::string& text) const {
    EXPECT_NE(text.find("system:serviceaccount:ns-observability:scaler"), std::string::npos);
    const bool allowed = denied_.empty() || text.find("\"" + denied_ + "\"") == std::string::npos;
    return json::object{{"status", {{"allowed", allowed}}}};
  }
  [[nodiscard]] base::Result<std::string> Text(const std::string& path) const {
    const auto found = answers_.find(path.substr(0, path.find('?')));
    if (found == answers_.end()) return base::Fail(base::Code::kUnavailable, "no answer");
    return found->second;
  }

  std::map<std::string, std::string> answers_;
  std::string denied_;
};

constexpr const char* kProxy = "/api/v1/namespaces/ns-observability/pods/http:scaler-0:8081/proxy";

FakeCluster Installed() {
  FakeCluster cluster;
  cluster.Set("/version", R"({"gitVersion":"v1.36.3"})");
  const std::string root = "/apis/apiregistration.k8s.io/v1/apiservices/";
  cluster.Set(root + "v1beta2.custom.metrics.k8s.io",
              R"({"spec":{"service":{"namespace":"ns-observability","name":"activescale"},
                  "caBundle":"LS0t"},"status":{"conditions":[{"type":"Available","status":"False",
                  "reason":"MissingEndpoints","message":"no addresses"}]}})");
  const std::string core = "/api/v1/namespaces/ns-observability";
  cluster.Set(core + "/services/activescale", R"({"spec":{"selector":{"app":"scaler"}}})");
  cluster.Set(core + "/services/activescale-grpc",
              R"({"spec":{"selector":{"app":"scaler"},"clusterIP":"None"}})");
  cluster.Set(core + "/pods", R"({"items":[{"metadata":{"namespace":"ns-observability",
      "name":"scaler-0"},"spec":{"serviceAccountName":"scaler","containers":[
      {"name":"other","args":["--ttl=1s"]},
      {"name":"activescale","args":["serve","--ttl","45s","--namespaces=shop,web","--external-metrics"],
       "env":[{"name":"REDIS_ADDR","valueFrom":{"secretKeyRef":{"name":"x"}}}],
       "ports":[{"name":"health","containerPort":8081}]}]},
      "status":{"phase":"Running","conditions":[{"type":"Ready","status":"False",
      "reason":"ContainersNotReady","message":"not ready"}]}}]})");
  cluster.Set(std::string(kProxy) + "/readyz", "[-]store failed: away\n");
  cluster.Set(std::string(kProxy) + "/metrics", "activescale_ingest_messages_total 4\n");
  cluster.Set("/apis/autoscaling/v2/horizontalpodautoscalers",
              R"({"items":[{"spec":{"metrics":[{"type":"Pods"},{"type":"Resource"}]}}]})");
  cluster.Set("/api/v1/namespaces/kube-system/pods",
              R"({"items":[{"spec":{"containers":[{"command":["kcm","--kube-api-qps=50"]}]}}]})");
  return cluster;
}

DoctorQuestion Question() {
  return {.server = "https://x",
          .ns = "ns-observability",
          .service = "activescale",
          .hpa_ns = {},
          .hpa = {},
          .health_addresses = {},
          .now = {}};
}

TEST(DoctorGatherTest, ReadsAnInstallation) {
  FakeCluster cluster = Installed();
  cluster.Deny("tokenreviews");
  const DoctorFacts facts = Gather(cluster.Reader(), Question());
  ASSERT_TRUE(facts.install);
  const InstallFacts& install = *facts.install;
  ASSERT_EQ(install.custom.size(), 2U);
  ASSERT_TRUE(install.custom[0].found);
  EXPECT_EQ(install.custom[0].found->owner, "ns-observability/activescale");
  EXPECT_EQ(install.custom[0].found->reason, "MissingEndpoints");
  EXPECT_EQ(install.custom[1].found.error().code, base::Code::kNotFound);
  EXPECT_EQ(install.settings.ttl, std::chrono::seconds(45));
  EXPECT_TRUE(install.settings.shared_store);
  EXPECT_TRUE(install.settings.external_metrics);
  EXPECT_EQ(install.settings.namespaces, (std::vector<std::string>{"shop", "web"}));
  ASSERT_EQ(install.replicas->size(), 1U);
  EXPECT_EQ(install.replicas->front().state, "ContainersNotReady: not ready");
  ASSERT_EQ(install.health.size(), 1U);
  EXPECT_EQ(FailedChecks(*install.health[0].readyz), (std::vector<std::string>{"store: away"}));
  EXPECT_TRUE(install.push->headless);
  int denied = 0;
  for (const Right& right : install.rights) denied += *right.allowed ? 0 : 1;
  EXPECT_EQ(denied, 1);
  EXPECT_EQ(facts.load->custom_reads, 1);
  EXPECT_EQ(facts.load->qps, 50);
}

TEST(DoctorGatherTest, HealthAddressesReplaceTheWayByTheApiServer) {
  FakeCluster cluster = Installed();
  cluster.Set("http://127.0.0.1:18080/readyz", "[+]store ok: fine\n");
  DoctorQuestion question = Question();
  question.health_addresses = {"127.0.0.1:18080", "127.0.0.1:1"};
  const DoctorFacts facts = Gather(cluster.Reader(), question);
  ASSERT_EQ(facts.install->health.size(), 2U);
  EXPECT_TRUE(facts.install->health[0].readyz);
  EXPECT_FALSE(facts.install->health[1].readyz);
}

TEST(DoctorGatherTest, HealthsAloneAreThoseOfAddressesOrOfTheService) {
  FakeCluster cluster = Installed();
  DoctorQuestion question = Question();
  const auto of_service = GatherHealths(cluster.Reader(), question);
  ASSERT_TRUE(of_service && of_service->size() == 1);
  EXPECT_EQ(of_service->front().metrics->at("activescale_ingest_messages_total"), 4);
  question.health_addresses = {"127.0.0.1:18080"};
  const auto of_address = GatherHealths(cluster.Reader(), question);
  ASSERT_TRUE(of_address && of_address->size() == 1);
  EXPECT_EQ(of_address->front().replica, "127.0.0.1:18080");
  EXPECT_FALSE(GatherHealths(FakeCluster().Reader(), Question()));
}

TEST(DoctorGatherTest, WithoutAClusterNothingElseIsAsked) {
  FakeCluster cluster;
  const DoctorFacts facts = Gather(cluster.Reader(), Question());
  EXPECT_FALSE(facts.version);
  EXPECT_FALSE(facts.install);
}

FakeCluster WithWorkload() {
  FakeCluster cluster = Installed();
  cluster.Set("/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web",
              R"({"metadata":{"namespace":"shop","name":"web"},"spec":{"maxReplicas":5,
      "scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},
      "metrics":[{"type":"Pods","pods":{"metric":{"name":"inbound_active_requests"},
      "target":{"type":"AverageValue","averageValue":"4"}}}]}})");
  cluster.Set("/apis/apps/v1", R"({"resources":[{"name":"deployments","kind":"Deployment"}]})");
  const std::string deployment = "/apis/apps/v1/namespaces/shop/deployments/web";
  cluster.Set(deployment + "/scale",
              R"({"spec":{"replicas":1},"status":{"replicas":1,"selector":"app=web"}})");
  cluster.Set(deployment, R"({"spec":{"template":{"metadata":{"annotations":{
      "proxy.istio.io/config":"envoyMetricsService: {address: 'sink:9000'}"}}}}})");
  cluster.Set("/api/v1/namespaces/shop/pods", R"({"items":[{"metadata":{"name":"web-0",
      "annotations":{"sidecar.istio.io/statsFlushInterval":"1s",
      "sidecar.istio.io/statsInclusionSuffixes":"downstream_rq_active,x"}},
      "spec":{"initContainers":[{"name":"istio-proxy","restartPolicy":"Always",
      "env":[{"name":"PROXY_CONFIG","value":"{\"proxyStatsMatcher\":{\"inclusionRegexps\":[\"y.*\"]}}\n"}]}],
      "containers":[{"name":"app"}]},"status":{"phase":"Running"}}]})");
  cluster.Set(
      "/api/v1/namespaces/istio-system/configmaps/istio",
      R"({"data":{"mesh":"defaultConfig:\n  proxyStatsMatcher:\n    inclusionPrefixes: [http]\n"}})");
  cluster.Set("/apis/custom.metrics.k8s.io", R"({"preferredVersion":{"version":"v1beta1"}})");
  cluster.Set(
      "/apis/custom.metrics.k8s.io/v1beta1/namespaces/shop/pods/%2A/inbound_active_requests",
      R"({"items":[{"describedObject":{"name":"web-0"},"value":"2500m"}]})");
  return cluster;
}

TEST(DoctorGatherTest, ReadsTheWorkloadOfAnHpa) {
  FakeCluster cluster = WithWorkload();
  DoctorQuestion question = Question();
  question.hpa_ns = "shop";
  question.hpa = "web";
  const auto facts = GatherWorkload(cluster.Reader(), question);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->template_settings.sink, "sink:9000");
  EXPECT_EQ(facts->mesh_settings.stats.prefixes, (std::vector<std::string>{"http"}));
  ASSERT_EQ(facts->pods.size(), 1U);
  const Sidecar& sidecar = facts->pods[0].sidecar;
  EXPECT_TRUE(sidecar.present);
  EXPECT_EQ(sidecar.settings.sink, "");
  EXPECT_TRUE(sidecar.settings.stats.Take(SampleStat("inbound_active_requests")));
  EXPECT_FALSE(sidecar.settings.stats.Take(SampleStat("active_connections")));
  EXPECT_EQ(sidecar.flush_interval, std::chrono::seconds(1));
  EXPECT_EQ(facts->values.at("inbound_active_requests")->at("web-0"), 2500);
  EXPECT_EQ(facts->values.at("active_connections").error().code, base::Code::kNotFound);
}

TEST(DoctorGatherTest, NoApiIsNotNoTelemetry) {
  const auto answer = [](int status, const std::string& message) {
    return kube::ApiError{{base::Code::kNotFound, message}, status, {}, {}};
  };
  EXPECT_TRUE(MeansNoTelemetry(answer(404, "no fresh telemetry for inbound_active_requests")));
  EXPECT_FALSE(MeansNoTelemetry(answer(404, "404 page not found")));
  EXPECT_FALSE(MeansNoTelemetry(answer(503, "no fresh telemetry")));
}

TEST(DoctorGatherTest, AnHpaThatDoesNotExistIsAnError) {
  FakeCluster cluster = Installed();
  DoctorQuestion question = Question();
  question.hpa_ns = "shop";
  question.hpa = "nosuch";
  const DoctorFacts facts = Gather(cluster.Reader(), question);
  ASSERT_TRUE(facts.workload);
  EXPECT_EQ(facts.workload->error().code, base::Code::kNotFound);
}

}  // namespace
}  // namespace activescale::insight
