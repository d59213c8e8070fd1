#include "metric/stat_name.h"

#include <gtest/gtest.h>

namespace activescale::metric {
namespace {

constexpr auto kIn = MetricKind::kInboundActiveRequests;
constexpr auto kOut = MetricKind::kOutboundActiveRequests;
constexpr auto kConnections = MetricKind::kActiveConnections;
constexpr auto kNone = std::nullopt;

struct Case {
  std::string_view name;
  std::vector<LabelView> labels;
  std::optional<MetricKind> want;
};

void Check(const StatNameRules& rules, const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(rules.Classify(c.name, c.labels), c.want)
        << c.name << (c.labels.empty() ? "" : " with ")
        << (c.labels.empty() ? "" : c.labels[0].value);
  }
}

TEST(StatNameTest, FullNames) {
  Check(StatNameRules(),
        {
            {"http.inbound_0.0.0.0_8080;.downstream_rq_active", {}, kIn},
            {"http.inbound_0.0.0.0_8080.downstream_rq_active", {}, kIn},
            {"http.inbound_[__]_8080;.downstream_rq_active", {}, kIn},
            {"http.inbound_8080.downstream_rq_active", {}, kIn},
            {"http.outbound_0.0.0.0_80;.downstream_rq_active", {}, kOut},
            {"http.outbound_10.1.2.3_8443.downstream_rq_active", {}, kOut},
            {"listener.0.0.0.0_8080.downstream_cx_active", {}, kConnections},
            {"listener.127.0.0.1_8080.downstream_cx_active", {}, kConnections},
            {"listener.[__]_8080.downstream_cx_active", {}, kConnections},
            {"listener.[2001_db8__1]_8080.downstream_cx_active", {}, kConnections},
            {"listener.[__ffff_10.0.0.1]_80.downstream_cx_active", {}, kConnections},
        });
}

TEST(StatNameTest, TagsAsLabels) {
  const std::string_view http = "envoy.http_conn_manager_prefix";
  const std::string_view istio_http = "http_conn_manager_prefix";
  const std::string_view listener = "envoy.listener_address";
  Check(
      StatNameRules(),
      {
          // Envoy's default rules cut a dotted prefix at its first dot.
          {"http.0.0.0_8080.downstream_rq_active", {{http, "inbound_0"}}, kIn},
          {"http.0.0.0_8080;.downstream_rq_active", {{http, "inbound_0"}}, kIn},
          {"http.0.0.0_80.downstream_rq_active", {{http, "outbound_0"}}, kOut},
          {"http.0.0.0_15021.downstream_rq_active", {{http, "inbound_0"}}, kNone},
          {"http.0.0.0_8080.downstream_rq_active", {}, kNone},
          {"http.downstream_rq_active", {{http, "inbound_8080"}}, kIn},
          {"http.downstream_rq_active", {{istio_http, "inbound_0.0.0.0_8080"}}, kIn},
          {"http.downstream_rq_active", {{istio_http, "inbound_0.0.0.0_8080;"}}, kIn},
          {"http.;.downstream_rq_active", {{istio_http, "inbound_0.0.0.0_8080"}}, kIn},
          {"http.downstream_rq_active", {{"pod", "x"}, {istio_http, "outbound_0.0.0.0_80"}}, kOut},
          {"http.downstream_rq_active", {{http, "admin"}}, kNone},
          {"http.downstream_rq_active", {{istio_http, "stats;"}}, kNone},
          {"http.downstream_rq_active", {{http, "agent"}}, kNone},
          {"http.downstream_rq_active", {{http, "ingress"}}, kNone},
          {"http.downstream_rq_active", {{http, ""}}, kNone},
          {"http.downstream_rq_active", {{"other", "inbound_8080"}}, kNone},
          {"http.downstream_rq_active", {}, kNone},
          {"listener.downstream_cx_active", {{listener, "127.0.0.1_8080"}}, kConnections},
          {"listener.downstream_cx_active", {{"listener_address", "[__]_8080"}}, kConnections},
          {"listener.downstream_cx_active", {{listener, "0.0.0.0_15090"}}, kNone},
          {"listener.downstream_cx_active", {{listener, "admin"}}, kNone},
          {"listener.downstream_cx_active", {}, kNone},
      });
}

TEST(StatNameTest, WhatIsNotTrafficOfThePodIsExcluded) {
  Check(StatNameRules({"*"}, {}),
        {
            {"http.admin.downstream_rq_active", {}, kNone},
            {"http.agent.downstream_rq_active", {}, kNone},
            {"http.stats.downstream_rq_active", {}, kNone},
            {"http.admin;.downstream_rq_active", {}, kNone},
            {"http.administration.downstream_rq_active", {}, kIn},
            {"envoy_http_downstream_rq_active", {}, kNone},
            {"envoy_http_inbound_0_0_0_0_8080_downstream_rq_active", {}, kNone},
            {"http..downstream_rq_active", {}, kNone},
            {"http.inbound_0.0.0.0_8080.downstream_rq_total", {}, kNone},
            {"http.inbound_0.0.0.0_8080.downstream_rq_active_total", {}, kNone},
            {"http.inbound_0.0.0.0_8080.downstream_cx_active", {}, kNone},
            {"http.inbound_0.0.0.0_8080_downstream_rq_active", {}, kNone},
            {"cluster.inbound_8080.upstream_rq_active", {}, kNone},
            {"listener.0.0.0.0_8080.downstream_rq_active", {}, kNone},
            {"listener.0.0.0.0_8080.downstream_pre_cx_active", {}, kNone},
            {"listener.admin.downstream_cx_active", {}, kNone},
            {"listener.admin.main_thread.downstream_cx_active", {}, kNone},
            {"listener..downstream_cx_active", {}, kNone},
            {"", {}, kNone},
            {"http.", {}, kNone},
            {".downstream_rq_active", {}, kNone},
            {"listener", {}, kNone},
        });
}

TEST(StatNameTest, WorkerBreakdownsAreExcludedInBothForms) {
  Check(
      StatNameRules(),
      {
          {"listener.0.0.0.0_8080.worker_0.downstream_cx_active", {}, kNone},
          {"listener.[__]_8080.worker_12.downstream_cx_active", {}, kNone},
          {"listener.worker_downstream_cx_active",
           {{"envoy.listener_address", "127.0.0.1_8080"}, {"envoy.worker_id", "0"}},
           kNone},
          {"listener.downstream_cx_active",
           {{"envoy.worker_id", "0"}, {"envoy.listener_address", "127.0.0.1_8080"}},
           kNone},
          {"listener.worker_0.downstream_cx_active", {{"listener_address", "0.0.0.0_8080"}}, kNone},
      });
}

TEST(StatNameTest, IstiosReservedPortsAreExcludedAndItsTrafficPortsStay) {
  for (const char* port : {"15000", "15002", "15004", "15020", "15021", "15053", "15090"}) {
    const std::string p = port;
    EXPECT_EQ(StatNameRules().Classify("listener.0.0.0.0_" + p + ".downstream_cx_active"), kNone);
    EXPECT_EQ(StatNameRules().Classify("listener.[__]_" + p + ".downstream_cx_active"), kNone);
    EXPECT_EQ(StatNameRules().Classify("http.inbound_0.0.0.0_" + p + ";.downstream_rq_active"),
              kNone);
  }
  for (const char* port : {"15001", "15006", "15008", "1502", "150210", "8080", "1", "65535"}) {
    const std::string name = "listener.0.0.0.0_" + std::string(port) + ".downstream_cx_active";
    EXPECT_EQ(StatNameRules().Classify(name),
              std::string_view(port) == "150210" ? kNone : std::optional(kConnections))
        << name;
  }
}

TEST(StatNameTest, OnlyAddressesAreListenersOfTraffic) {
  Check(StatNameRules(), {
                             {"listener.envoy_//main_internal/.downstream_cx_active", {}, kNone},
                             {"listener./var/run/app.sock.downstream_cx_active", {}, kNone},
                             {"listener.0.0.0.0.downstream_cx_active", {}, kNone},
                             {"listener.0.0.0.0_.downstream_cx_active", {}, kNone},
                             {"listener.0.0.0.0_80a.downstream_cx_active", {}, kNone},
                             {"listener.0.0.0.0_-80.downstream_cx_active", {}, kNone},
                             {"listener.[]_80.downstream_cx_active", {}, kNone},
                             {"listener.[__.downstream_cx_active", {}, kNone},
                         });
}

TEST(StatNameTest, PrefixesOfPlainEnvoyAreGlobs) {
  const StatNameRules rules({"ingress_http", "in?_*_v*"}, {"egress*", "*"});
  Check(
      rules,
      {
          {"http.ingress_http.downstream_rq_active", {}, kIn},
          {"http.downstream_rq_active", {{"envoy.http_conn_manager_prefix", "ingress_http"}}, kIn},
          {"http.in1_a.b_v2.downstream_rq_active", {}, kIn},
          {"http.b_v2.downstream_rq_active", {{"envoy.http_conn_manager_prefix", "in1_a"}}, kIn},
          {"http.in_a_v2.downstream_rq_active", {}, kOut},
          {"http.ingress_https.downstream_rq_active", {}, kOut},
          {"http.egress.downstream_rq_active", {}, kOut},
          {"http.admin.downstream_rq_active", {}, kNone},
      });
  EXPECT_EQ(StatNameRules({}, {}).Classify("http.inbound_8080.downstream_rq_active"), kNone);
}

TEST(StatNameTest, CandidatesAreFewAndNoneIsMissed) {
  for (std::string_view name :
       {"http.downstream_rq_active", "http.x.downstream_rq_active", "listener.downstream_cx_active",
        "listener.0.0.0.0_80.downstream_cx_active"}) {
    EXPECT_TRUE(StatNameRules::IsCandidate(name)) << name;
  }
  for (std::string_view name : {"", "http", "downstream_rq_active", "cluster.a.upstream_rq_active",
                                "http.x.downstream_rq_1", "xhttp.x.downstream_rq_active",
                                "listener.worker_downstream_cx_active"}) {
    EXPECT_FALSE(StatNameRules::IsCandidate(name)) << name;
  }
}

}  // namespace
}  // namespace activescale::metric
