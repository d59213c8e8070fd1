#include "metricsapi/api_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include <boost/json.hpp>

#include "metricsapi/status.h"
#include "metricsapi/testing/api_fixture.h"
#include "net/http_server.h"
#include "net/self_signed.h"
#include "net/testing/server_fixture.h"
#include "net/testing/test_client.h"

namespace activescale::metricsapi {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHpaAccept = "application/vnd.kubernetes.protobuf, */*";
constexpr const char* kKubectlAccept = "application/json, */*";
constexpr const char* kKubectlTable =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
constexpr const char* kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const std::string kGroup = "/apis/custom.metrics.k8s.io";
const std::string kV2 = kGroup + "/v1beta2";
const std::string kV1 = kGroup + "/v1beta1";

/// The same requests once in memory and once over TLS sockets.
enum class Transport { kMemory, kTls };

class ApiHandlerTest : public testing::TestWithParam<Transport> {
 protected:
  ApiHandlerTest() {
    if (GetParam() == Transport::kMemory) return;
    tls_.Set(*net::TlsContext::ForServer(*net::MakeSelfSigned(
        {"localhost"}, std::chrono::system_clock::now(), std::chrono::hours(1))));
    net::HttpServerOptions options;
    options.tls = &tls_;
    options.render_error = RenderHttpError;
    server_ = std::make_unique<net::RunningServer>(fixture_.api, std::move(options));
  }

  net::HttpResponse Ask(const std::string& method, const std::string& target,
                        const std::vector<net::Header>& headers = {}) {
    std::optional<net::HttpResponse> answer;
    if (GetParam() == Transport::kMemory) {
      answer = fixture_.Ask(method, target, headers);
    } else {
      if (!client_) client_ = net::TestClient::Connect(server_->server->port(), net::TestTls{});
      answer = client_->Fetch(method, target, headers);
    }
    EXPECT_TRUE(answer) << target;
    return answer.value_or(net::HttpResponse{0, "", "null", {}});
  }

  ApiFixture fixture_;
  base::Snapshot<net::TlsContext> tls_;
  std::unique_ptr<net::RunningServer> server_;
  std::unique_ptr<net::TestClient> client_;
};

INSTANTIATE_TEST_SUITE_P(Transports, ApiHandlerTest,
                         testing::Values(Transport::kMemory, Transport::kTls),
                         [](const auto& param) {
                           return param.param == Transport::kMemory ? "Memory" : "Tls";
                         });

struct Row {
  std::string method;
  std::string target;
  const char* accept;
  int status;
  std::string kind;  // of the JSON body; "" for text
  std::string text;  // a part of the body
};

TEST_P(ApiHandlerTest, EveryPathHasItsAnswer) {
  fixture_.AddWebPods(2, 3);
  fixture_.index.SetWorkload("shop", {"deployments.apps", "web"},
                             {{{"shop", "web-0"}, false}, {{"shop", "web-1"}, false}});
  const std::string ns = kV2 + "/namespaces/shop";
  const std::string rps = "inbound_active_requests";
  const Row rows[] = {
      // Discovery, for each who asks.
      {"GET", "/apis", nullptr, 200, "APIGroupList", "custom.metrics.k8s.io/v1beta1"},
      {"GET", "/apis/", kKubectlAccept, 200, "APIGroupList", ""},
      {"GET", "/apis", kAggregated, 200, "APIGroupList", ""},
      {"GET", kGroup, kKubectlAccept, 200, "APIGroup",
       "\"preferredVersion\":{\"groupVersion\":"
       "\"custom.metrics.k8s.io/v1beta2\""},
      {"GET", kV2, kKubectlAccept, 200, "APIResourceList", "\"pods/inbound_active_requests\""},
      {"GET", kV2 + "/", nullptr, 200, "APIResourceList", "\"pods/active_connections\""},
      {"GET", kV1, kHpaAccept, 200, "APIResourceList", "\"deployments.apps/active_connections\""},
      {"GET", kV2 + "?timeout=32s", kKubectlAccept, 200, "APIResourceList", ""},
      {"GET", "/version", nullptr, 200, "", "\"gitVersion\":\"v1.2.3\""},
      // Metrics.
      {"GET", ns + "/pods/*/" + rps, kHpaAccept, 200, "MetricValueList", "\"value\":\"3\""},
      {"GET", ns + "/pods/%2A/" + rps + "?labelSelector=app%3Dweb", kHpaAccept, 200,
       "MetricValueList", "web-1"},
      {"GET", ns + "/pods/%2a/" + rps + "?labelSelector=app+in+%28web%2Capi%29", kKubectlTable, 200,
       "MetricValueList", "web-1"},
      {"GET", kV1 + "/namespaces/shop/pods/*/" + rps, kHpaAccept, 200, "MetricValueList",
       "\"metricName\":\"inbound_active_requests\""},
      {"GET", ns + "/pods/web-0/" + rps, kHpaAccept, 200, "MetricValueList", "web-0"},
      {"GET", ns + "/deployments.apps/web/" + rps, kHpaAccept, 200, "MetricValueList",
       "\"value\":\"6\""},
      {"GET", kV2 + "/namespaces/empty/pods/*/" + rps, kHpaAccept, 200, "MetricValueList",
       "\"items\":[]"},
      // Bad selectors say which and why.
      {"GET", ns + "/pods/*/" + rps + "?labelSelector=%28", nullptr, 400, "Status",
       "labelSelector: "},
      {"GET", ns + "/pods/*/" + rps + "?labelSelector=a%3Db%3Dc", nullptr, 400, "Status",
       "labelSelector: "},
      {"GET", ns + "/pods/*/" + rps + "?metricLabelSelector=a+in+x", nullptr, 400, "Status",
       "metricLabelSelector: "},
      {"GET", ns + "/pods/*/" + rps + "?fieldSelector=a%3Db", nullptr, 400, "Status",
       "fieldSelector"},
      // What is not there.
      {"GET", ns + "/metrics/" + rps, kHpaAccept, 404, "Status", "namespace as a whole"},
      {"GET", kV2 + "/nodes/n1/" + rps, kHpaAccept, 404, "Status", "outside of namespaces"},
      {"GET", kV2 + "/pods/*/" + rps, kHpaAccept, 404, "Status", "no metric has this path"},
      {"GET", ns + "/deployments.apps/*/" + rps, kHpaAccept, 404, "Status", "for pods only"},
      {"GET", ns + "/pods/*/rps", kHpaAccept, 404, "Status", "known are"},
      {"GET", "/apis/external.metrics.k8s.io/v1beta1", nullptr, 404, "Status", ""},
      {"GET", kGroup + "/v1", nullptr, 404, "Status", ""},
      {"GET", kGroup + "/v1/namespaces/shop/pods/*/" + rps, nullptr, 404, "Status", ""},
      {"GET", "/openapi/v2", nullptr, 404, "Status", ""},
      {"GET", "/openapi/v3", nullptr, 404, "Status", ""},
      {"GET", "/", nullptr, 404, "Status", ""},
      {"GET", "/api/v1/pods", nullptr, 404, "Status", ""},
      // What is not done.
      {"POST", ns + "/pods/*/" + rps, nullptr, 405, "Status", "only GET"},
      {"DELETE", kV2, nullptr, 405, "Status", ""},
      {"PUT", "/apis", nullptr, 405, "Status", ""},
      {"POST", "/nowhere", nullptr, 404, "Status", ""},
      // What Kubernetes' components have besides.
      {"GET", "/healthz", nullptr, 200, "", "ok"},
      {"GET", "/livez?verbose", nullptr, 200, "", "livez check passed"},
      {"GET", "/readyz", nullptr, 200, "", "ok"},
      {"GET", "/metrics", nullptr, 200, "", "activescale_api_requests_total"},
  };
  for (const Row& row : rows) {
    std::vector<net::Header> headers;
    if (row.accept != nullptr) headers.emplace_back("Accept", row.accept);
    const auto answer = Ask(row.method, row.target, headers);
    EXPECT_EQ(answer.status, row.status) << row.target;
    EXPECT_THAT(answer.body, HasSubstr(row.text)) << row.target;
    for (const auto& [name, value] : answer.headers) EXPECT_NE(name, "Retry-After");
    if (row.kind.empty()) continue;
    EXPECT_EQ(answer.content_type, "application/json") << row.target;
    const auto body = boost::json::parse(answer.body);
    EXPECT_EQ(body.at("kind").as_string(), row.kind) << row.target;
    if (row.kind != "Status") continue;
    EXPECT_EQ(body.at("status").as_string(), "Failure") << row.target;
    EXPECT_EQ(body.at("code").as_int64(), row.status) << row.target;
    EXPECT_FALSE(body.at("reason").as_string().empty()) << row.target;
    EXPECT_TRUE(body.at("details").is_object()) << row.target;
  }
}

// keda #4154, #4224, #1797: an empty resource list made kubectl and helm fail.
TEST_P(ApiHandlerTest, CaseC1DiscoveryOfAFreshServerIsNeverEmpty) {
  for (const std::string& version : {kV2, kV1}) {
    const auto answer = Ask("GET", version);
    ASSERT_EQ(answer.status, 200);
    const auto list = boost::json::parse(answer.body);
    EXPECT_EQ(list.at("groupVersion").as_string(), version.substr(6));
    ASSERT_FALSE(list.at("resources").as_array().empty());
    for (const auto& resource : list.at("resources").as_array()) {
      EXPECT_THAT(std::string(resource.at("name").as_string()), HasSubstr("/"));
      EXPECT_EQ(resource.at("singularName").as_string(), "");
      EXPECT_EQ(resource.at("namespaced").as_bool(), true);
      EXPECT_EQ(resource.at("kind").as_string(), "MetricValueList");
      EXPECT_EQ(boost::json::serialize(resource.at("verbs")), R"(["get"])");
    }
  }
}

// keda #1797, #3670, prometheus-adapter #292: discovery with an entry an object was slow and huge.
// kubernetes #75788: discovery that fails stops the deletion of namespaces.
TEST_P(ApiHandlerTest, CaseC2DiscoveryIsSmallWithManyPodsAndAsksNoBackend) {
  fixture_.AddWebPods(5'000, 1);
  fixture_.store.Fail(base::Error{base::Code::kUnavailable, "away"});
  fixture_.index.Fail(base::Error{base::Code::kUnavailable, "away"});
  for (const std::string& path : {std::string("/apis"), kGroup, kV2, kV1}) {
    const auto answer = Ask("GET", path);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_LT(answer.body.size(), 10'000) << path;
  }
  EXPECT_EQ(fixture_.store.reads(), 0);
}

// custom-metrics-apiserver #78, prometheus-adapter #338, #635: odd paths panicked.
TEST_P(ApiHandlerTest, CaseC4HostilePathsGetAStatusAndTheServerLives) {
  const std::string hostile[] = {
      kV2 + "/namespaces/*/m",
      kV2 + "/namespaces/default/foo",
      kV2 + "/namespaces/default/jobs.batch/",
      kV2 + "/pods",
      kV2 + "//pods/*/m",
      kV2 + "/namespaces/default//pods/*/m",
      kV2 + "/namespaces/default/pods/%2e%2e/m",
      kV2 + "/pods/%2e%2e/m",
      kV2 + "/namespaces/ns/pods/*/m/extra",
      kV2 + "/namespaces/*/pods/*/inbound_active_requests",
      kV2 + "/namespaces/UPPER/pods/*/inbound_active_requests",
      kV2 + "/namespaces/a.b/pods/*/inbound_active_requests",
      kV2 + "/namespaces/ns/Pods/x/inbound_active_requests",
      kV2 + "/namespaces/ns/pods/a%2Fb/inbound_active_requests",
      kV2 + "/namespaces/ns/pods/%00/inbound_active_requests",
      kV2 + "/namespaces/ns/pods/-/inbound_active_requests",
      kV2 + "/namespaces/ns/pods/a..b/inbound_active_requests",
      kV2 + "/namespaces/ns/pods/*/%ff",
      kV2 + "/namespaces/ns/pods/*/%22%7d%3cscript%3e",
      kV2 + "/namespaces/ns/pods/*/" + std::string(40'000, 'm'),
      kV2 + "/namespaces/" + std::string(40'000, 'n') + "/pods/*/inbound_active_requests",
      kV2 +
          "/namespaces/ns/pods/*/inbound_active_requests?labelSelector=" + std::string(40'000, '('),
      kV2 + "/namespaces/ns/pods/*/inbound_active_requests?labelSelector=%ff",
      kV2 + "/namespaces/ns/pods/*/inbound_active_requests?labelSelector=a%00",
      "/apis/../../etc/passwd",
      "/%2e%2e/%2e%2e/etc/passwd",
      "//",
      "/?",
      "/apis?;",
      "/apis/custom.metrics.k8s.io/%",
  };
  for (const std::string& target : hostile) {
    const auto answer = Ask("GET", target);
    EXPECT_TRUE(answer.status == 400 || answer.status == 404) << answer.status << " " << target;
    EXPECT_EQ(boost::json::parse(answer.body).at("kind").as_string(), "Status") << target;
    EXPECT_LT(answer.body.size(), 2'000) << target.substr(0, 100);
  }
  EXPECT_EQ(Ask("GET", kV2).status, 200);
}

TEST_P(ApiHandlerTest, RequestsAreCountedByVerbResourceAndCode) {
  fixture_.AddWebPods(1, 1);
  Ask("GET", kV2 + "/namespaces/shop/pods/*/inbound_active_requests");
  Ask("GET", kV2 + "/namespaces/shop/pods/*/inbound_active_requests");
  Ask("GET", kV2 + "/namespaces/shop/pods/*/nothing");
  Ask("GET", kV2 + "/namespaces/shop/deployments.apps/web/inbound_active_requests");
  Ask("GET", kV2);
  Ask("BREW", "/tea");
  const std::string text = fixture_.registry.Render();
  for (const char* line : {
           R"(activescale_api_requests_total{code="200",resource="pods",verb="get"} 2)",
           R"(activescale_api_requests_total{code="404",resource="pods",verb="get"} 1)",
           R"(activescale_api_requests_total{code="404",resource="objects",verb="get"} 1)",
           R"(activescale_api_requests_total{code="200",resource="nonresource",verb="get"} 1)",
           R"(activescale_api_requests_total{code="404",resource="nonresource",verb="other"} 1)",
           R"(activescale_api_request_duration_seconds_count{resource="pods"} 3)",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

class ApiHandlerTlsTest : public ApiHandlerTest {};
INSTANTIATE_TEST_SUITE_P(Tls, ApiHandlerTlsTest, testing::Values(Transport::kTls));

TEST_P(ApiHandlerTlsTest, WhatNeverReachesTheHandlerIsAStatusToo) {
  const auto answer = Ask("GET", "/apis", {{"X-Huge", std::string(1 << 20, 'x')}});
  EXPECT_EQ(answer.status, 431);
  EXPECT_EQ(boost::json::parse(answer.body).at("kind").as_string(), "Status");
}

/// Lets those through who say so in a header; answers when told.
class HeaderAccess final : public AccessControl {
 public:
  void Check(const net::HttpRequest& request, const RequestInfo& info, Decision done) override {
    if (request.FindHeader("allow") == "yes") return done(kube::UserInfo());
    done(base::Fail(base::Code::kPermissionDenied, info.verb + " " + info.resource + " refused"));
  }
};

TEST(ApiHandlerAccessTest, NothingIsAnsweredThatAccessControlRefuses) {
  HeaderAccess access;
  ApiFixture fixture(&access);
  fixture.AddWebPods(1, 1);
  const std::string path = kV2 + "/namespaces/shop/pods/*/inbound_active_requests";
  EXPECT_EQ(fixture.Ask("GET", path, {{"Allow", "yes"}})->status, 200);
  const auto refused = fixture.Ask("GET", path);
  EXPECT_EQ(refused->status, 403);
  EXPECT_THAT(refused->body, AllOf(HasSubstr("get pods refused"), HasSubstr("\"Forbidden\""),
                                   Not(HasSubstr("web-0"))));
  for (const char* other : {"/apis", "/metrics", "/readyz", "/nowhere"}) {
    EXPECT_EQ(fixture.Ask("GET", other)->status, 403) << other;
  }
}

}  // namespace
}  // namespace activescale::metricsapi
