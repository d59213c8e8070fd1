#include "kube/api_reviews.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/loop_thread.h"

namespace activescale::kube {
namespace {

using base::Code;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kTokenReviews = "POST /apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kAccessReviews = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews";

class ApiReviewsTest : public ::testing::Test {
 protected:
  ~ApiReviewsTest() override { loop_.Stop(); }

  ReviewCaller::Options Options() {
    return {.deadline = milliseconds(10'000),
            .attempt_timeout = milliseconds(5'000),
            .backoff = milliseconds(2),
            .max_attempts = 5,
            .max_pending = 3};
  }

  base::Result<std::optional<UserInfo>> ReviewToken(const ReviewCaller::Options& options) {
    ApiTokenReviewer reviewer(api_, registry_, clock_, [] { return 0.0; }, options);
    std::promise<base::Result<std::optional<UserInfo>>> answer;
    reviewer.Review("the-token", [&answer](auto result) { answer.set_value(std::move(result)); });
    return answer.get_future().get();
  }

  base::Result<AccessDecision> ReviewAccess(AccessAttributes attributes) {
    ApiAccessReviewer reviewer(api_, registry_, clock_, [] { return 0.0; }, Options());
    std::promise<base::Result<AccessDecision>> answer;
    reviewer.Review(std::move(attributes),
                    [&answer](auto result) { answer.set_value(std::move(result)); });
    return answer.get_future().get();
  }

  base::SystemClock clock_;
  telemetry::Registry registry_;
  FakeApiServer server_;
  LoopThread loop_;
  ApiClient api_{loop_.http(), server_.access(), clock_};
};

TEST_F(ApiReviewsTest, AValidTokenGivesItsUser) {
  server_.On(kTokenReviews, Respond(201, R"({"status":{"authenticated":true,"user":{
      "username":"system:serviceaccount:a:b","uid":"u","groups":["g1","g2",3],
      "extra":{"scopes":["s1","s2"]}}}})"));
  const auto user = ReviewToken(Options());
  ASSERT_TRUE(user.has_value()) << user.error().message;
  ASSERT_TRUE(user->has_value());
  EXPECT_EQ(**user, (UserInfo{.name = "system:serviceaccount:a:b",
                              .uid = "u",
                              .groups = {"g1", "g2"},
                              .extra = {{"scopes", {"s1", "s2"}}}}));
  EXPECT_EQ(server_.Requests(kTokenReviews)[0].body,
            R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1",)"
            R"("spec":{"token":"the-token"}})");
}

TEST_F(ApiReviewsTest, WhatIsNotSaidToBeAuthenticatedIsNot) {
  for (const char* status :
       {R"({"status":{"authenticated":false,"error":"bad"}})", R"({"status":{}})",
        R"({"status":{"user":{"username":"a"}}})", R"({"status":{"authenticated":true}})",
        R"({"status":{"authenticated":"true","user":{"username":"a"}}})",
        R"({"status":{"authenticated":true,"user":{"username":""}}})"}) {
    FakeApiServer server;
    server.On(kTokenReviews, Respond(201, status));
    ApiClient api(loop_.http(), server.access(), clock_);
    ApiTokenReviewer reviewer(api, registry_, clock_, [] { return 0.0; }, Options());
    std::promise<base::Result<std::optional<UserInfo>>> answer;
    reviewer.Review("t", [&answer](auto result) { answer.set_value(std::move(result)); });
    const auto user = answer.get_future().get();
    ASSERT_TRUE(user.has_value()) << status;
    EXPECT_FALSE(user->has_value()) << status;
  }
}

TEST_F(ApiReviewsTest, FaultsThatPassAreTriedAgain) {
  server_.On(kTokenReviews, Respond(500, StatusJson(500, "InternalError", "etcd")));
  server_.On(kTokenReviews, Respond(429, StatusJson(429, "TooManyRequests", "busy")));
  server_.On(kTokenReviews, [](const auto&, FakeApiServer::Reply& reply) { reply.Close(); });
  server_.On(kTokenReviews, [](const auto&, FakeApiServer::Reply& reply) { reply.Hang(); });
  server_.On(kTokenReviews,
             Respond(201, R"({"status":{"authenticated":true,"user":{"username":"a"}}})"));
  auto options = Options();
  options.attempt_timeout = milliseconds(50);
  const auto user = ReviewToken(options);
  ASSERT_TRUE(user.has_value()) << user.error().message;
  EXPECT_TRUE(user->has_value());
}

TEST_F(ApiReviewsTest, FaultsThatStayAreErrorsAndNeverADecision) {
  struct Case {
    FakeApiServer::Answer answer;
    Code code;
    std::string message;
    size_t attempts;
  };
  const Case cases[] = {
      {Respond(403, StatusJson(403, "Forbidden", "no reviews")), Code::kPermissionDenied,
       "no reviews; grant it by RBAC", 1},
      {Respond(201, "<html>"), Code::kInternal, "not a JSON object", 1},
      {Respond(201, "{}"), Code::kInternal, "without a status", 1},
      {Respond(503, "down"), Code::kUnavailable, "says 503: down", 5},
  };
  for (const Case& c : cases) {
    FakeApiServer server;
    server.On(kTokenReviews, c.answer);
    ApiClient api(loop_.http(), server.access(), clock_);
    ApiTokenReviewer reviewer(api, registry_, clock_, [] { return 0.0; }, Options());
    std::promise<base::Result<std::optional<UserInfo>>> answer;
    reviewer.Review("SECRET", [&answer](auto result) { answer.set_value(std::move(result)); });
    const auto user = answer.get_future().get();
    ASSERT_FALSE(user.has_value()) << c.message;
    EXPECT_EQ(user.error().code, c.code) << user.error().message;
    EXPECT_THAT(user.error().message, HasSubstr(c.message));
    EXPECT_THAT(user.error().message, ::testing::Not(HasSubstr("SECRET")));
    EXPECT_EQ(server.Requests(kTokenReviews).size(), c.attempts) << c.message;
  }
}

TEST_F(ApiReviewsTest, AServerThatNeverAnswersCostsTheDeadlineAndABoundedNumber) {
  server_.On(kTokenReviews, [](const auto&, FakeApiServer::Reply& reply) { reply.Hang(); });
  auto options = Options();
  options.deadline = milliseconds(100);
  ApiTokenReviewer reviewer(api_, registry_, clock_, [] { return 0.0; }, options);
  std::vector<std::promise<base::Result<std::optional<UserInfo>>>> answers(4);
  for (auto& answer : answers) {
    reviewer.Review("t", [&answer](auto result) { answer.set_value(std::move(result)); });
  }
  std::vector<Code> codes;
  for (auto& answer : answers) codes.push_back(answer.get_future().get().error().code);
  EXPECT_THAT(codes, ElementsAre(Code::kDeadlineExceeded, Code::kDeadlineExceeded,
                                 Code::kDeadlineExceeded, Code::kResourceExhausted));
}

TEST_F(ApiReviewsTest, AskedWhileTheLoopStopsTheAnswerStillComes) {
  server_.On(kTokenReviews, Respond(503, "down"));
  auto options = Options();
  options.backoff = milliseconds(5'000);
  std::promise<base::Result<std::optional<UserInfo>>> answer;
  {
    LoopThread loop;
    ApiClient api(loop.http(), server_.access(), clock_);
    ApiTokenReviewer reviewer(api, registry_, clock_, [] { return 0.0; }, options);
    reviewer.Review("t", [&answer](auto result) { answer.set_value(std::move(result)); });
    ASSERT_TRUE(Eventually([this] { return !server_.Requests(kTokenReviews).empty(); }));
    loop.Stop();
  }
  EXPECT_EQ(answer.get_future().get().error().code, Code::kUnavailable);
}

TEST_F(ApiReviewsTest, AccessIsAskedWithAllAttributes) {
  server_.On(kAccessReviews, Respond(201, R"({"status":{"allowed":true,"reason":"RBAC: x"}})"));
  server_.On(kAccessReviews, Respond(201, R"({"status":{"allowed":false}})"));
  server_.On(kAccessReviews, Respond(201, R"({"status":{"allowed":true,"denied":true}})"));
  server_.On(kAccessReviews, Respond(201, R"({"status":{}})"));
  AccessAttributes attributes;
  attributes.user = {.name = "n", .uid = "u", .groups = {"g"}, .extra = {{"k", {"v"}}}};
  attributes.verb = "get";
  attributes.resource = AccessAttributes::Resource{.ns = "ns",
                                                   .group = "custom.metrics.k8s.io",
                                                   .version = "v1beta2",
                                                   .resource = "pods",
                                                   .subresource = "m",
                                                   .name = "*"};
  auto decision = ReviewAccess(attributes);
  ASSERT_TRUE(decision.has_value()) << decision.error().message;
  EXPECT_TRUE(decision->allowed);
  EXPECT_EQ(decision->reason, "RBAC: x");
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(ReviewAccess(attributes)->allowed);
  attributes.resource.reset();
  attributes.path = "/metrics";
  EXPECT_FALSE(ReviewAccess(attributes)->allowed);
  const auto requests = server_.Requests(kAccessReviews);
  EXPECT_EQ(requests[0].body,
            R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":)"
            R"({"user":"n","uid":"u","groups":["g"],"extra":{"k":["v"]},"resourceAttributes":)"
            R"({"namespace":"ns","verb":"get","group":"custom.metrics.k8s.io",)"
            R"("version":"v1beta2","resource":"pods","subresource":"m","name":"*"}}})");
  EXPECT_THAT(requests[3].body,
              HasSubstr(R"("nonResourceAttributes":{"path":"/metrics","verb":"get"})"));
}

}  // namespace
}  // namespace activescale::kube
