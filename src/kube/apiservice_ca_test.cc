#include "kube/apiservice_ca.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/testing/fake_clock.h"
#include "kube/json.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/loop_thread.h"

namespace activescale::kube {
namespace {

constexpr std::string_view kSecret = "/api/v1/namespaces/obs/secrets/activescale-ca";
constexpr std::string_view kApiService =
    "/apis/apiregistration.k8s.io/v1/apiservices/v1beta2.custom.metrics.k8s.io";

/// The one object that an API server keeps at a path, with optimistic concurrency.
class KeptObject {
 public:
  explicit KeptObject(std::string_view text) : object_(boost::json::parse(text).as_object()) {}

  FakeApiServer::Answer Get() {
    return [this](const net::HttpRequest&, FakeApiServer::Reply& reply) {
      base::MutexLock lock(mutex_);
      reply.Send(200, boost::json::serialize(object_));
    };
  }
  FakeApiServer::Answer Put() {
    return [this](const net::HttpRequest& request, FakeApiServer::Reply& reply) {
      Store(boost::json::parse(request.body).as_object(), reply);
    };
  }
  FakeApiServer::Answer MergePatch() {
    return [this](const net::HttpRequest& request, FakeApiServer::Reply& reply) {
      const boost::json::object patch = boost::json::parse(request.body).as_object();
      boost::json::object changed = Copy();
      for (const auto& [key, value] : patch.at("spec").as_object()) {
        if (value.is_null()) {
          changed["spec"].as_object().erase(key);
        } else {
          changed["spec"].as_object()[key] = value;
        }
      }
      changed["metadata"].as_object()["resourceVersion"] =
          patch.at("metadata").at("resourceVersion");
      Store(std::move(changed), reply);
    };
  }
  boost::json::object Copy() {
    base::MutexLock lock(mutex_);
    return object_;
  }

 private:
  void Store(boost::json::object changed, FakeApiServer::Reply& reply) {
    base::MutexLock lock(mutex_);
    if (FindString(changed, {"metadata", "resourceVersion"}) !=
        FindString(object_, {"metadata", "resourceVersion"})) {
      reply.Send(409, StatusJson(409, "Conflict", "the object has been modified"));
      return;
    }
    object_ = std::move(changed);
    object_["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
    reply.Send(200, boost::json::serialize(object_));
  }

  base::Mutex mutex_;
  boost::json::object object_ GUARDED_BY(mutex_);
  int version_ GUARDED_BY(mutex_) = 100;
};

constexpr std::string_view kEmptySecret = R"({"metadata":{"resourceVersion":"1"}})";
constexpr std::string_view kOurApiService =
    R"({"metadata":{"resourceVersion":"7"},"spec":{"insecureSkipTLSVerify":true,)"
    R"("service":{"namespace":"obs","name":"activescale"}}})";

class ApiServiceCaTest : public testing::Test {
 protected:
  void Serve(std::string_view secret, std::string_view api_service) {
    secret_ = std::make_unique<KeptObject>(secret);
    api_service_ = std::make_unique<KeptObject>(api_service);
    server_.On("LIST " + std::string(kSecret), secret_->Get());
    server_.On("PUT " + std::string(kSecret), secret_->Put());
    server_.On("LIST " + std::string(kApiService), api_service_->Get());
    server_.On("PATCH " + std::string(kApiService), api_service_->MergePatch());
  }

  std::unique_ptr<ApiServiceCa> Make() {
    return std::make_unique<ApiServiceCa>(
        ApiServiceCa::Options{.ns = "obs",
                              .secret = "activescale-ca",
                              .service = "activescale",
                              .api_services = {"v1beta2.custom.metrics.k8s.io"},
                              .interval = std::chrono::milliseconds(5),
                              .retry = std::chrono::milliseconds(5)},
        ApiServiceCa::Context{.api = api_,
                              .registry = registry_,
                              .clock = clock_,
                              .random = [] { return 0.5; },
                              .install = [this](const net::TlsPair& pair) -> base::Result<void> {
                                EXPECT_TRUE(net::TlsContext::ForServer(pair).has_value());
                                ++installed_;
                                return {};
                              }});
  }

  base::FakeClock clock_;
  telemetry::Registry registry_;
  std::unique_ptr<KeptObject> secret_;
  std::unique_ptr<KeptObject> api_service_;
  std::atomic<int> installed_ = 0;
  FakeApiServer server_;  // after what its answers use
  LoopThread loop_;
  ApiClient api_{loop_.http(), server_.access(), clock_};
};

TEST_F(ApiServiceCaTest, AnEmptySecretGetsACaAndTheApiServiceItsBundle) {
  Serve(kEmptySecret, kOurApiService);
  const auto ca = Make();
  EXPECT_FALSE(ca->Health().ok);
  ca->Start();
  EXPECT_TRUE(Eventually([&] { return ca->Health().ok; })) << ca->Health().reason;
  loop_.Stop();
  EXPECT_EQ(installed_, 1);
  const boost::json::object api_service = api_service_->Copy();
  EXPECT_EQ(FindString(api_service, {"spec", "caBundle"}),
            FindString(secret_->Copy(), {"data", "ca.crt"}));
  EXPECT_EQ(FindValue(api_service, {"spec", "insecureSkipTLSVerify"}), nullptr);
}

TEST_F(ApiServiceCaTest, TwoReplicasRaceToOneCa) {
  Serve(kEmptySecret, kOurApiService);
  const auto a = Make();
  const auto b = Make();
  a->Start();
  b->Start();
  EXPECT_TRUE(Eventually([&] { return a->Health().ok && b->Health().ok; }));
  loop_.Stop();
  EXPECT_EQ(FindString(api_service_->Copy(), {"spec", "caBundle"}),
            FindString(secret_->Copy(), {"data", "ca.crt"}));
}

TEST_F(ApiServiceCaTest, AnApiServiceOfAnotherServiceIsLeftAlone) {
  Serve(
      kEmptySecret,
      R"({"metadata":{"resourceVersion":"7"},"spec":{"service":{"namespace":"obs","name":"other"}}})");
  const auto ca = Make();
  ca->Start();
  EXPECT_TRUE(Eventually([&] { return ca->Health().ok; }));
  loop_.Stop();
  EXPECT_TRUE(server_.Requests("PATCH " + std::string(kApiService)).empty());
}

TEST_F(ApiServiceCaTest, ACaNearItsEndIsFollowedAndStaysInTheBundle) {
  Serve(kEmptySecret, kOurApiService);
  const auto ca = Make();
  ca->Start();
  ASSERT_TRUE(Eventually([&] { return ca->Health().ok; }));
  const std::string before(FindString(secret_->Copy(), {"data", "ca.crt"}));
  clock_.Advance(ApiServiceCa::kAuthorityLifetime - std::chrono::hours(24 * 30));
  EXPECT_TRUE(Eventually([&] {
    const std::string now(FindString(api_service_->Copy(), {"spec", "caBundle"}));
    return now.size() > before.size();
  }));
  EXPECT_TRUE(Eventually([&] { return installed_ == 2; }));
  loop_.Stop();
}

TEST_F(ApiServiceCaTest, FaultsAreNamedAndTriedAgain) {
  struct Case {
    std::string name;
    int status;
    std::string secret;
    std::string want;
  };
  const Case cases[] = {
      {"no such Secret", 404, StatusJson(404, "NotFound", "not found"), "must exist"},
      {"forbidden", 403, StatusJson(403, "Forbidden", "no"), "get and update"},
      {"garbage in it", 200, R"({"data":{"ca.crt":"Zm9v","ca.key":"YmFy"}})", "not usable"},
  };
  for (const Case& c : cases) {
    FakeApiServer server;
    server.On("LIST " + std::string(kSecret), Respond(c.status, c.secret));
    LoopThread loop;
    ApiClient api(loop.http(), server.access(), clock_);
    ApiServiceCa ca({.ns = "obs",
                     .secret = "activescale-ca",
                     .service = "activescale",
                     .api_services = {},
                     .retry = std::chrono::milliseconds(1)},
                    {.api = api,
                     .registry = registry_,
                     .clock = clock_,
                     .random = [] { return 0.5; },
                     .install = [](const net::TlsPair&) -> base::Result<void> { return {}; }});
    ca.Start();
    EXPECT_TRUE(Eventually([&] {
      return ca.Health().reason.find(c.want) != std::string::npos &&
             server.Requests("LIST " + std::string(kSecret)).size() > 2;
    })) << c.name
        << ": " << ca.Health().reason;
    loop.Stop();
  }
}

}  // namespace
}  // namespace activescale::kube
