#include "kube/apiservice_owner.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

#include "base/clock.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/loop_thread.h"

namespace activescale::kube {
namespace {

constexpr std::string_view kName = "v1beta1.external.metrics.k8s.io";

base::Result<ApiServiceOwner> Ask(FakeApiServer& server) {
  const base::SystemClock clock;
  LoopThread loop;
  ApiClient api(loop.http(), server.access(), clock);
  std::promise<base::Result<ApiServiceOwner>> promise;
  FindApiServiceOwner(api, kName, [&promise](base::Result<ApiServiceOwner> owner) {
    promise.set_value(std::move(owner));
  });
  auto owner = promise.get_future().get();
  loop.Stop();
  return owner;
}

// Case C24: of two servers of external metrics in a cluster the loser gets no questions.
TEST(ApiServiceOwnerTest, NamesTheServiceOrWhyItIsNotKnown) {
  const std::string route =
      "LIST /apis/apiregistration.k8s.io/v1/apiservices/" + std::string(kName);
  FakeApiServer server;
  server.On(route, Respond(200, R"({"spec":{"service":{"namespace":"keda","name":"adapter"}}})"));
  server.On(route, Respond(200, R"({"spec":{}})"));
  server.On(route, Respond(404, StatusJson(404, "NotFound", "no such APIService")));
  server.On(route, Respond(403, StatusJson(403, "Forbidden", "no")));

  const auto other = Ask(server);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->ns, "keda");
  EXPECT_EQ(other->service, "adapter");
  const auto local = Ask(server);
  ASSERT_TRUE(local);
  EXPECT_EQ(local->service, "");
  EXPECT_EQ(Ask(server).error().code, base::Code::kNotFound);
  EXPECT_EQ(Ask(server).error().code, base::Code::kPermissionDenied);
}

}  // namespace
}  // namespace activescale::kube
