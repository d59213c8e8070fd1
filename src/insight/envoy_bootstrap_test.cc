#include "insight/envoy_bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace activescale::insight {
namespace {

constexpr std::chrono::seconds kBootstrapTtl{20};

std::string ReadExample() {
  std::ifstream file(ACTIVESCALE_DEPLOY "/envoy/bootstrap.yaml");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string Replace(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// The example of the repository as an init container would render it.
std::string Rendered() {
  std::string text = ReadExample();
  for (const auto& [from, to] : {std::pair("NAME: $(POD_NAME)", "NAME: web-0"),
                                 std::pair("NAMESPACE: $(POD_NAMESPACE)", "NAMESPACE: shop")}) {
    text = Replace(std::move(text), from, to);
  }
  return text;
}

/// "check: message" of the first finding that is not ok; "" if there is none.
std::string ProblemOf(const Findings& findings) {
  const auto found = std::ranges::find_if(
      findings, [](const Finding& finding) { return finding.level != Level::kOk; });
  return found == findings.end() ? "" : found->check + ": " + found->message;
}

TEST(EnvoyBootstrapTest, TheExampleIsComplete) {
  const Findings findings = CheckEnvoyBootstrap(Rendered(), kBootstrapTtl);
  EXPECT_EQ(ProblemOf(findings), "");
  EXPECT_GE(findings.size(), 4U);
}

TEST(EnvoyBootstrapTest, AnUnrenderedVariableIsAWarning) {
  const Findings findings = CheckEnvoyBootstrap(ReadExample(), kBootstrapTtl);
  EXPECT_EQ(WorstOf(findings), Level::kWarning);
  EXPECT_NE(ProblemOf(findings).find("expands no variables"), std::string::npos);
}

struct Broken {
  const char* name;
  const char* from;
  const char* to;
  const char* problem;  // part of it
};

class BrokenBootstrapTest : public testing::TestWithParam<Broken> {};

TEST_P(BrokenBootstrapTest, FirstProblemNamesTheCause) {
  const Broken& broken = GetParam();
  const Findings findings =
      CheckEnvoyBootstrap(Replace(Rendered(), broken.from, broken.to), kBootstrapTtl);
  EXPECT_NE(ProblemOf(findings).find(broken.problem), std::string::npos) << ProblemOf(findings);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BrokenBootstrapTest,
    testing::Values(
        Broken{"NoSink",
               "envoy.stat_sinks.metrics_service\n    typed_config:\n      \"@type\": "
               "type.googleapis.com/envoy.config.metrics.v3.MetricsServiceConfig",
               "envoy.stat_sinks.statsd\n    typed_config:\n      \"@type\": x", "pushes nothing"},
        Broken{"OldProtocol", "transport_api_version: V3", "transport_api_version: V2",
               "transport_api_version is V2"},
        Broken{"NoProtocol", "transport_api_version: V3", "report_counters_as_deltas: true",
               "transport_api_version is not set"},
        Broken{"NoClusterName", "cluster_name: activescale\n", "authority: x\n",
               "no grpc_service.envoy_grpc.cluster_name"},
        Broken{"UnknownCluster", "          cluster_name: activescale\nstatic",
               "          cluster_name: other\nstatic", "cluster other: the sink names it"},
        Broken{"Http1", "http2_protocol_options", "http_protocol_options", "gRPC needs HTTP/2"},
        Broken{"NoName", "NAME: web-0", "WHO: web-0", "metadata.NAME is missing"},
        Broken{"NoNamespace", "NAMESPACE: shop", "WHERE: shop", "metadata.NAMESPACE is missing"},
        Broken{"SlowFlush", "stats_flush_interval: 5s", "stats_flush_interval: 30s",
               "below three flush intervals"},
        Broken{"NoDuration", "stats_flush_interval: 5s", "stats_flush_interval: often",
               "is no duration"},
        Broken{"FlushOnAdmin", "stats_flush_interval: 5s", "stats_flush_on_admin: true",
               "only when its admin page is read"},
        Broken{"RejectAll", "stats_flush_interval: 5s",
               "stats_config: {stats_matcher: {reject_all: true}}", "keeps no stats"},
        Broken{"NotIncluded", "stats_flush_interval: 5s",
               "stats_config: {stats_matcher: {inclusion_list: {patterns: [{prefix: cluster.}]}}}",
               "does not keep http.inbound_8080.downstream_rq_active"},
        Broken{"Excluded", "stats_flush_interval: 5s",
               "statsConfig: {statsMatcher: {exclusionList: {patterns: [{suffix: _active}]}}}",
               "does not keep http.inbound_8080.downstream_rq_active"},
        Broken{"ConnectionsNotIncluded", "stats_flush_interval: 5s",
               "stats_config: {stats_matcher: {inclusion_list: {patterns: [{safe_regex: {regex: "
               "'http.*'}}]}}}",
               "active_connections would be served as 0"},
        Broken{"OtherPrefix", "stat_prefix: inbound_8080", "stat_prefix: ingress_http",
               "ingress_http does not count as inbound"},
        Broken{"NoYaml", "stats_flush_interval: 5s", "stats_flush_interval: [5s",
               "bootstrap: it does not parse"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(EnvoyBootstrapTest, ReadsJsonNamesAndTheIdentityOfAMesh) {
  const std::string text = R"({"bootstrap":{
    "node":{"id":"sidecar~10.0.0.1~web-0.shop~shop.svc.cluster.local"},
    "statsSinks":[{"name":"envoy.stat_sinks.metrics_service","typedConfig":{
      "transportApiVersion":"V3","grpcService":{"envoyGrpc":{"clusterName":"sink"}}}}],
    "staticResources":{"clusters":[{"name":"sink","http2ProtocolOptions":{},
      "loadAssignment":{"endpoints":[{"lbEndpoints":[{"endpoint":{"address":{"socketAddress":
        {"address":"activescale-grpc.ns-observability","portValue":9000}}}}]}]}}]}}})";
  const Findings findings = CheckEnvoyBootstrap(text, kBootstrapTtl);
  EXPECT_EQ(ProblemOf(findings), "");
}

TEST(EnvoyBootstrapTest, WhatIsNoObjectIsRefused) {
  for (const char* text :
       {"", "[]", "just words", "\x01", "static_resources: {listeners: &x [*x, *x]}"}) {
    EXPECT_EQ(WorstOf(CheckEnvoyBootstrap(text, kBootstrapTtl)), Level::kFailure) << text;
  }
}

}  // namespace
}  // namespace activescale::insight
