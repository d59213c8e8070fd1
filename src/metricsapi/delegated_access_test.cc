#include "metricsapi/delegated_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <boost/json.hpp>

#include "base/snapshot.h"
#include "kube/testing/fake_reviews.h"
#include "metricsapi/testing/api_fixture.h"
#include "net/self_signed.h"
#include "net/testing/server_fixture.h"
#include "net/testing/test_authority.h"
#include "net/testing/test_client.h"

namespace activescale::metricsapi {
namespace {

using kube::AccessAttributes;
using kube::AccessDecision;
using net::TestAuthority;
using net::TlsPair;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const std::string kPods =
    "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/*/inbound_active_requests";

/// The API behind delegated access, over TLS, as it stands behind an aggregator whose certificate
/// `proxy_` the authority `proxy_ca_` signed.
class DelegatedAccessTest : public testing::Test {
 protected:
  void SetUp() override {
    Publish(proxy_ca_.certificate_pem());
    fixture_.AddWebPods(1, 3);
    // As the built-in role of the HPA controller: it may get custom metrics, nobody else may.
    access_.SetRule([](const AccessAttributes& asked) {
      return AccessDecision{asked.user.name == "system:hpa" || asked.user.name == "system:node",
                            "no rule for it"};
    });
    tls_.Set(*net::TlsContext::ForServer(*net::MakeSelfSigned(
        {"localhost"}, std::chrono::system_clock::now(), std::chrono::hours(1))));
    net::HttpServerOptions options;
    options.tls = &tls_;
    server_ = std::make_unique<net::RunningServer>(fixture_.api, std::move(options));
  }

  /// What kube-apiserver says in its ConfigMap.
  void Publish(const std::string& proxy_authorities) {
    kube::DelegatedAuthConfig config;
    config.client_ca_pem = client_ca_.certificate_pem();
    config.request_header_ca_pem = proxy_authorities;
    config.username_headers = {"X-Remote-User"};
    config.group_headers = {"X-Remote-Group"};
    config.extra_header_prefixes = {"X-Remote-Extra-"};
    config.allowed_names = {"front-proxy-client"};
    config_.Set(std::make_shared<const kube::DelegatedAuthConfig>(config));
  }

  std::unique_ptr<net::TestClient> Connect(const TlsPair& certificate = {}) {
    return net::TestClient::Connect(server_->server->port(), net::TestTls{.client = certificate});
  }
  net::HttpResponse Ask(const TlsPair& certificate, const std::vector<net::Header>& headers,
                        const std::string& target = kPods) {
    auto answer = Connect(certificate)->Fetch("GET", target, headers);
    return answer.value_or(net::HttpResponse{0, "", "null", {}});
  }
  int Status(const TlsPair& certificate, const std::vector<net::Header>& headers,
             const std::string& target = kPods) {
    return Ask(certificate, headers, target).status;
  }

  // The authenticator's clock; certificates are issued around it.
  base::FakeClock clock_;
  const TestAuthority proxy_ca_{"proxy", clock_.WallNow()};
  const TestAuthority client_ca_{"clients", clock_.WallNow()};
  const TestAuthority stranger_ca_{"stranger", clock_.WallNow()};
  const TlsPair proxy_ = proxy_ca_.Issue({.common_name = "front-proxy-client"});
  const std::vector<net::Header> hpa_ = {{"X-Remote-User", "system:hpa"}};

  base::Snapshot<kube::DelegatedAuthConfig> config_;
  kube::FakeTokenReviewer tokens_;
  kube::FakeAccessReviewer access_;
  telemetry::Registry registry_;
  Authenticator authenticator_{[this] { return config_.Get(); }, tokens_, clock_, registry_, {}};
  Authorizer authorizer_{access_, clock_, registry_, {}};
  DelegatedAccess delegated_{authenticator_, authorizer_, clock_};
  ApiFixture fixture_{&delegated_};
  base::Snapshot<net::TlsContext> tls_;
  std::unique_ptr<net::RunningServer> server_;
};

// prometheus-adapter #176, #58, #473: anonymous, unknown authority and forbidden were mixed up.
TEST_F(DelegatedAccessTest, CaseC16EveryKindOfCallerGetsItsStatus) {
  tokens_.Add("good", {.name = "system:hpa", .uid = "7", .groups = {}, .extra = {}});
  tokens_.Add("jane", {.name = "jane", .uid = "", .groups = {}, .extra = {}});
  const TlsPair wrong_name = proxy_ca_.Issue({.common_name = "somebody"});
  const TlsPair server_only =
      proxy_ca_.Issue({.common_name = "front-proxy-client", .extended_key_usage = "serverAuth"});
  const TlsPair stranger = stranger_ca_.Issue({.common_name = "front-proxy-client"});
  const TlsPair hpa_client = client_ca_.Issue({.common_name = "system:hpa"});
  const TlsPair admin =
      client_ca_.Issue({.common_name = "admin", .organizations = {"system:masters"}});
  const TlsPair expired =
      client_ca_.Issue({.common_name = "system:hpa", .valid_until = std::chrono::minutes(-1)});
  const struct {
    const char* name;
    TlsPair certificate;
    std::vector<net::Header> headers;
    int status;
    const char* text;
  } cases[] = {
      {"nothing", {}, {}, 403, "User \\\"system:anonymous\\\" cannot get"},
      {"headers without a certificate", {}, hpa_, 403, "system:anonymous"},
      {"the aggregator for the HPA", proxy_, hpa_, 200, "web-0"},
      {"the aggregator for jane",
       proxy_,
       {{"x-remote-user", "jane"}},
       403,
       "pods.custom.metrics.k8s.io \\\"*\\\" is forbidden: User \\\"jane\\\" cannot get resource "
       "\\\"pods/inbound_active_requests\\\" in API group \\\"custom.metrics.k8s.io\\\" in the "
       "namespace \\\"shop\\\": no rule for it"},
      {"the aggregator for masters",
       proxy_,
       {{"X-Remote-User", "root"}, {"X-Remote-Group", "system:masters"}},
       200,
       "web-0"},
      {"the aggregator for nobody", proxy_, {}, 401, "name no user"},
      {"a name that is not allowed", wrong_name, hpa_, 401, "not among the allowed ones"},
      {"a certificate for serving", server_only, hpa_, 401, "as the aggregator: "},
      {"a stranger's certificate", stranger, hpa_, 401, "as the aggregator: "},
      {"a client's certificate", hpa_client, {}, 200, "web-0"},
      {"a client may not name others", hpa_client, {{"X-Remote-User", "admin"}}, 200, "web-0"},
      {"an administrator's certificate", admin, {}, 200, "web-0"},
      {"an expired certificate", expired, {}, 401, "expired"},
      {"a good token", {}, {{"Authorization", "Bearer good"}}, 200, "web-0"},
      {"a good token, spelt otherwise", {}, {{"authorization", "bearer good"}}, 200, "web-0"},
      {"a token of one who may not", {}, {{"Authorization", "Bearer jane"}}, 403, "\\\"jane\\\""},
      {"a bad token", {}, {{"Authorization", "Bearer bad"}}, 401, "not valid"},
      {"a bad token with other headers", {}, {{"Authorization", "Bearer bad"}, hpa_[0]}, 401, ""},
      {"no token at all", {}, {{"Authorization", "Basic Zm9v"}}, 403, "system:anonymous"},
      {"a stranger with a good token", stranger, {{"Authorization", "Bearer good"}}, 200, "web-0"},
  };
  for (const auto& c : cases) {
    const auto answer = Ask(c.certificate, c.headers);
    EXPECT_EQ(answer.status, c.status) << c.name << ": " << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(c.text)) << c.name;
    const auto body = boost::json::parse(answer.body);
    if (c.status == 200) continue;
    EXPECT_EQ(body.at("kind").as_string(), "Status") << c.name;
    EXPECT_EQ(body.at("reason").as_string(), c.status == 401 ? "Unauthorized" : "Forbidden");
  }
  const std::string text = registry_.Render();
  for (const char* line : {
           R"(activescale_authentications_total{method="request_header",result="accepted"} 3)",
           R"(activescale_authentications_total{method="certificate",result="refused"} 5)",
           R"(activescale_authentications_total{method="token",result="refused"} 2)",
           R"(activescale_authorizations_total{result="masters"} 2)",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

// metrics-server #314, linkerd2 #3497, CDI PR #807: a rotated authority needed a restart.
TEST_F(DelegatedAccessTest, CaseC17ARotatedRequestHeaderAuthorityIsTakenUnderLoad) {
  const TestAuthority next_ca("proxy", clock_.WallNow());
  const TlsPair next = next_ca.Issue({.common_name = "front-proxy-client"});
  std::atomic<bool> stop{false};
  std::atomic<int> failed{0};
  std::atomic<int> answered{0};
  std::atomic<bool> use_next{false};
  // The aggregator: it changes its certificate while both authorities are published.
  std::thread load([&] {
    while (!stop) {
      auto client = Connect(use_next ? next : proxy_);
      for (int i = 0; i < 5; ++i) {
        const auto answer = client->Fetch("GET", kPods, hpa_);
        ++answered;
        if (!answer || answer->status != 200) ++failed;
      }
    }
  });
  const auto wait_for_more = [&answered] {
    const int before = answered;
    while (answered < before + 20) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  EXPECT_EQ(Status(next, hpa_), 401);
  auto old_connection = Connect(proxy_);
  EXPECT_EQ(old_connection->Fetch("GET", kPods, hpa_)->status, 200);
  wait_for_more();
  Publish(proxy_ca_.certificate_pem() + next_ca.certificate_pem());
  EXPECT_EQ(Status(next, hpa_), 200);
  use_next = true;
  wait_for_more();
  Publish(next_ca.certificate_pem());
  EXPECT_EQ(Status(next, hpa_), 200);
  EXPECT_EQ(Status(proxy_, hpa_), 401);
  EXPECT_EQ(old_connection->Fetch("GET", kPods, hpa_)->status, 401);
  wait_for_more();
  stop = true;
  load.join();
  EXPECT_EQ(failed, 0);
}

TEST_F(DelegatedAccessTest, AnAuthorityThatDoesNotParseKeepsTheOneBefore) {
  EXPECT_EQ(Status(proxy_, hpa_), 200);
  Publish("not a certificate");
  EXPECT_EQ(Status(proxy_, hpa_), 200);
  EXPECT_THAT(registry_.Render(),
              HasSubstr("activescale_authentication_broken_authorities_total 1\n"));
  Publish("");
  EXPECT_EQ(Status(proxy_, hpa_), 401);
}

TEST_F(DelegatedAccessTest, ThePathsOfProbesAreOpenAndOthersAreNot) {
  for (const char* path : {"/healthz", "/livez", "/readyz"}) {
    EXPECT_EQ(Status({}, {}, path), 200) << path;
  }
  for (const char* path : {"/metrics", "/apis", "/version", "/openapi/v2", "/livez/x"}) {
    const auto answer = Ask({}, {}, path);
    EXPECT_EQ(answer.status, 403) << path;
    EXPECT_THAT(answer.body,
                HasSubstr("forbidden: User \\\"system:anonymous\\\" cannot get path \\\"" +
                          std::string(path)));
  }
  EXPECT_EQ(Status(proxy_, {{"X-Remote-User", "system:node"}}, "/metrics"), 200);
  EXPECT_EQ(Status({}, {{"Authorization", "Bearer bad"}}, "/livez"), 401);
}

TEST_F(DelegatedAccessTest, TheWholeUserAndWhatIsMeantReachTheReview) {
  Ask(proxy_, {{"X-Remote-User", "jane"},
               {"X-Remote-Group", "dev"},
               {"x-remote-group", "ops, and more"},
               {"X-Remote-Uid", "forged"},
               {"X-Remote-Extra-Acme.Com%2fProject", "p1"},
               {"X-Remote-Extra-Scopes", "a"},
               {"x-remote-extra-scopes", "b"}});
  const auto asked = access_.asked();
  ASSERT_EQ(asked.size(), 1);
  EXPECT_EQ(asked[0].user.name, "jane");
  EXPECT_EQ(asked[0].user.uid, "");  // not among the headers that the cluster publishes
  EXPECT_THAT(asked[0].user.groups, ElementsAre("dev", "ops, and more", "system:authenticated"));
  EXPECT_THAT(asked[0].user.extra, ElementsAre(Pair("acme.com/project", ElementsAre("p1")),
                                               Pair("scopes", ElementsAre("a", "b"))));
  EXPECT_EQ(asked[0].verb, "get");
  EXPECT_EQ(asked[0].resource,
            (AccessAttributes::Resource{"shop", "custom.metrics.k8s.io", "v1beta2", "pods",
                                        "inbound_active_requests", "*"}));
}

TEST_F(DelegatedAccessTest, DecisionsAreRememberedForTenSecondsAndFailuresAreNot) {
  const std::vector<net::Header> jane = {{"X-Remote-User", "jane"}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Status(proxy_, hpa_), 200);
    EXPECT_EQ(Status(proxy_, jane), 403);
  }
  EXPECT_EQ(access_.asked().size(), 2);
  clock_.Advance(seconds(11));
  access_.SetRule([](const AccessAttributes&) {
    return base::Result<AccessDecision>(base::Fail(base::Code::kDeadlineExceeded, "too slow"));
  });
  for (int i = 0; i < 2; ++i) {
    const auto answer = Ask(proxy_, hpa_);
    EXPECT_EQ(answer.status, 403);
    EXPECT_THAT(answer.body, HasSubstr("could not be reviewed: too slow"));
  }
  EXPECT_EQ(access_.asked().size(), 4);
  EXPECT_THAT(registry_.Render(),
              HasSubstr(R"(activescale_authorizations_total{result="failed"} 2)"));
}

TEST_F(DelegatedAccessTest, TokensAreRememberedGoodAndBadAndFailuresAreNot) {
  tokens_.Add("good", {.name = "system:hpa", .uid = "", .groups = {}, .extra = {}});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Status({}, {{"Authorization", "Bearer good"}}), 200);
    EXPECT_EQ(Status({}, {{"Authorization", "Bearer bad"}}), 401);
  }
  EXPECT_EQ(tokens_.reviews(), 2);
  clock_.Advance(seconds(11));
  tokens_.Fail(base::Error{base::Code::kUnavailable, "no answer"});
  for (int i = 0; i < 2; ++i) {
    const auto answer = Ask({}, {{"Authorization", "Bearer good"}});
    EXPECT_EQ(answer.status, 401);
    EXPECT_THAT(answer.body, HasSubstr("could not be reviewed: no answer"));
  }
  EXPECT_EQ(tokens_.reviews(), 4);
}

TEST_F(DelegatedAccessTest, ASlowReviewHoldsUpNobodyElse) {
  EXPECT_EQ(Status(proxy_, hpa_), 200);  // now known
  access_.Hold();
  auto slow = Connect(proxy_);
  ASSERT_TRUE(slow->Send("GET " + kPods + " HTTP/1.1\r\nHost: h\r\nX-Remote-User: jane\r\n\r\n"));
  while (access_.asked().size() < 2) std::this_thread::yield();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Status(proxy_, hpa_), 200);
  EXPECT_EQ(Status({}, {}, "/livez"), 200);
  access_.Release();
  EXPECT_EQ(slow->ReadResponse()->status, 403);
}

TEST_F(DelegatedAccessTest, WithoutAnyConfigurationNobodyIsServedUnlessThatIsTolerated) {
  config_.Set(nullptr);
  tokens_.Add("good", {.name = "system:hpa", .uid = "", .groups = {}, .extra = {}});
  Authenticator strict([this] { return config_.Get(); }, tokens_, clock_, registry_, {});
  Authenticator lenient([this] { return config_.Get(); }, tokens_, clock_, registry_,
                        {.tolerate_lookup_failure = true});
  net::HttpRequest request;
  request.headers = {{"Authorization", "Bearer good"}};
  strict.Authenticate(request, [](base::Result<kube::UserInfo> user) {
    ASSERT_FALSE(user);
    EXPECT_EQ(user.error().code, base::Code::kUnavailable);
    EXPECT_THAT(user.error().message, HasSubstr("extension-apiserver-authentication-reader"));
  });
  lenient.Authenticate(request, [](base::Result<kube::UserInfo> user) {
    ASSERT_TRUE(user);
    EXPECT_EQ(user->name, "system:hpa");
  });
}

}  // namespace
}  // namespace activescale::metricsapi
