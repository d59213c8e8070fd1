#include "metricsapi/request_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metricsapi/request_info.h"

namespace activescale::metricsapi {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(ParseTargetTest, DecodesEachSegmentAndTheQuery) {
  const struct {
    const char* target;
    std::vector<std::string> segments;
    std::vector<std::pair<std::string, std::string>> query;
  } cases[] = {
      {"/", {}, {}},
      {"/apis", {"apis"}, {}},
      {"/apis/", {"apis"}, {}},
      {"/pods/%2A/m", {"pods", "*", "m"}, {}},
      {"/pods/*/m", {"pods", "*", "m"}, {}},
      {"/a+b", {"a+b"}, {}},
      {"/%C3%A9", {"\xC3\xA9"}, {}},
      {"/m?labelSelector=tier+in+%28a%2Cb%29", {"m"}, {{"labelSelector", "tier in (a,b)"}}},
      {"/m?a=1&a=2&&b&c=", {"m"}, {{"a", "1"}, {"a", "2"}, {"b", ""}, {"c", ""}}},
      {"/m?x=a=b?c", {"m"}, {{"x", "a=b?c"}}},
      {"/m?", {"m"}, {}},
  };
  for (const auto& c : cases) {
    const auto target = ParseTarget(c.target);
    ASSERT_TRUE(target) << c.target << ": " << target.error().message;
    EXPECT_EQ(target->segments, c.segments) << c.target;
    EXPECT_EQ(target->query, c.query) << c.target;
  }
}

TEST(ParseTargetTest, RefusesWhatNoKubernetesPathHas) {
  const struct {
    std::string target;
    const char* message;
  } cases[] = {
      {"", "not a path"},
      {"*", "not a path"},
      {"http://host/apis", "not a path"},
      {"/a#b", "not a path"},
      {"//pods/*/m", "empty segment"},
      {"/a//b", "empty segment"},
      {"/a/./b", "\".\""},
      {"/a/../b", "\"..\""},
      {"/pods/%2e%2e/m", "\"..\""},
      {"/pods/a%2Fb/m", "\"/\""},
      {"/pods/a%25b/m", "\"%\""},
      {"/a%", "not %XX"},
      {"/a%2", "not %XX"},
      {"/a%zz", "not %XX"},
      {"/a%00b", "control characters"},
      {"/a%0d%0ab", "control characters"},
      {"/a%ff", "not UTF-8"},
      {"/a%ed%a0%80", "not UTF-8"},
      {"/a?x=%f", "not %XX"},
      {"/a?x=%ff", "not UTF-8"},
      {"/a?x=1;y=2", "\";\""},
  };
  for (const auto& c : cases) {
    const auto target = ParseTarget(c.target);
    ASSERT_FALSE(target) << c.target;
    EXPECT_EQ(target.error().code, base::Code::kInvalidArgument) << c.target;
    EXPECT_THAT(target.error().message, HasSubstr(c.message)) << c.target;
  }
}

TEST(ParseTargetTest, OfARepeatedParameterTheFirstCounts) {
  const auto target = ParseTarget("/m?a=1&a=2");
  EXPECT_EQ(target->Parameter("a"), "1");
  EXPECT_EQ(target->Parameter("b"), std::nullopt);
}

/// Verb, namespace, group, version, resource, subresource and name joined by spaces; "-" is none.
std::string Describe(const RequestInfo& info) {
  if (!info.is_resource) return info.verb + " path " + info.path;
  std::string text = info.verb;
  for (const std::string& part :
       {info.ns, info.group, info.version, info.resource, info.subresource, info.name}) {
    text.append(" ").append(part.empty() ? "-" : part);
  }
  return text;
}

// The rows were checked against kube-apiserver's rules (requestinfo.go and its test).
TEST(ResolveRequestInfoTest, ReadsWhatKubeApiserverReads) {
  const struct {
    const char* method;
    const char* target;
    const char* want;
  } cases[] = {
      {"GET", "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/%2A/rps",
       "get shop custom.metrics.k8s.io v1beta2 pods rps *"},
      {"GET", "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/deployments.apps/web/rps",
       "get shop custom.metrics.k8s.io v1beta2 deployments.apps rps web"},
      {"GET", "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/metrics/rps",
       "get shop custom.metrics.k8s.io v1beta2 metrics - rps"},
      {"GET", "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue",
       "list shop external.metrics.k8s.io v1beta1 queue - -"},
      // A metric with the name of a namespace's subresource is misread there, hence here too.
      {"GET", "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/status",
       "get shop external.metrics.k8s.io v1beta1 namespaces status shop"},
      {"GET", "/apis/g/v1/nodes/n1/m", "get - g v1 nodes m n1"},
      {"GET", "/apis/g/v1/things", "list - g v1 things - -"},
      {"GET", "/apis/g/v1/things?watch=true", "watch - g v1 things - -"},
      {"GET", "/apis/g/v1/watch/things/x/sub", "watch - g v1 things sub x"},
      {"GET", "/apis/g/v1/proxy/things/x/sub", "proxy - g v1 things - x"},
      {"GET", "/apis/g/v1/namespaces", "list - g v1 namespaces - -"},
      {"GET", "/apis/g/v1/namespaces/shop", "get shop g v1 namespaces - shop"},
      {"HEAD", "/apis/g/v1/things/x", "get - g v1 things - x"},
      {"POST", "/apis/g/v1/things", "create - g v1 things - -"},
      {"PUT", "/apis/g/v1/things/x", "update - g v1 things - x"},
      {"PATCH", "/apis/g/v1/things/x", "patch - g v1 things - x"},
      {"DELETE", "/apis/g/v1/things/x", "delete - g v1 things - x"},
      {"DELETE", "/apis/g/v1/things", "deletecollection - g v1 things - -"},
      {"GET", "/api/v1/pods", "list - - v1 pods - -"},
      {"GET", "/", "get path /"},
      {"GET", "/apis", "get path /apis"},
      {"GET", "/apis/custom.metrics.k8s.io", "get path /apis/custom.metrics.k8s.io"},
      {"GET", "/apis/custom.metrics.k8s.io/v1beta2",
       "get path /apis/custom.metrics.k8s.io/v1beta2"},
      {"POST", "/metrics?x=1", "post path /metrics"},
      {"GET", "/openapi/v2/a/b/c", "get path /openapi/v2/a/b/c"},
  };
  for (const auto& c : cases) {
    const auto target = ParseTarget(c.target);
    ASSERT_TRUE(target) << c.target;
    EXPECT_EQ(Describe(ResolveRequestInfo(c.method, *target)), c.want) << c.target;
  }
}

}  // namespace
}  // namespace activescale::metricsapi
