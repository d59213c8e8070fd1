#include "insight/top.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>

namespace activescale::insight {
namespace {

namespace json = boost::json;

constexpr base::WallTime kNow{std::chrono::seconds(1'764'482'400)};  // 2025-11-30T06:00:00Z

/// Answers GETs by path without query; else 404, in words that `missing` gives.
ClusterReader Answering(std::map<std::string, std::string> answers,
                        const std::string& missing = "no fresh telemetry") {
  ClusterReader reader;
  reader.get = [answers = std::move(answers),
                missing](const std::string& path) -> kube::ApiResult<json::object> {
    const auto found = answers.find(path.substr(0, path.find('?')));
    if (found != answers.end()) return json::parse(found->second).as_object();
    return std::unexpected(kube::ApiError{{base::Code::kNotFound, missing}, 404, {}, {}});
  };
  return reader;
}

std::string Pod(const char* ns, const char* name, const char* owner, const char* more = "") {
  return std::string(R"({"metadata":{"namespace":")") + ns + R"(","name":")" + name +
         R"(","ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":")" + owner +
         R"(","controller":true}])" + more + R"(},"status":{"phase":"Running"}})";
}

const char* const kRoot = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/";

ReplicaHealth Ours(const std::string& name, base::Result<Samples> metrics) {
  return {.replica = name, .asked_at = kNow, .readyz = "ok", .metrics = std::move(metrics)};
}

std::string StateOf(const std::string& hpa, const std::string& workload) {
  return "activescale_scale_ahead_state{hpa=\"" + hpa + "\",namespace=\"edge\",workload=\"" +
         workload + "\"}";
}

/// Two replicas, of which the second one acts for the HPA of StatefulSet/gate.
const base::Result<std::vector<ReplicaHealth>> kOurs =
    std::vector<ReplicaHealth>{Ours("a", Samples{{StateOf("gate", "StatefulSet/gate"), 2}}),
                               Ours("b", Samples{{StateOf("gate", "StatefulSet/gate"), 3},
                                                 {StateOf("other", "StatefulSet/web"), 2}})};

std::map<std::string, std::string> TwoNamespaces() {
  return {{"/apis/custom.metrics.k8s.io", R"({"preferredVersion":{"version":"v1beta2"}})"},
          {"/api/v1/pods", R"({"items":[)" + Pod("shop", "web-0", "web") + "," +
                               Pod("shop", "web-1", "web") + "," + Pod("shop", "db-0", "db") + "," +
                               Pod("shop", "web-2", "web", R"(,"deletionTimestamp":"x")") + "," +
                               Pod("edge", "gate-0", "gate") + "]}"},
          {std::string(kRoot) + "shop/pods/%2A/inbound_active_requests",
           R"({"items":[{"describedObject":{"name":"web-0"},"value":"2500m",
               "timestamp":"2025-11-30T05:59:58Z"},
              {"describedObject":{"name":"unknown"},"value":"9"}]})"},
          {std::string(kRoot) + "edge/pods/%2A/inbound_active_requests",
           R"({"items":[{"describedObject":{"name":"gate-0"},"value":"7",
               "timestamp":"2025-11-30T05:59:59Z"}]})"},
          {std::string(kRoot) + "edge/pods/%2A/outbound_active_requests",
           R"({"items":[{"describedObject":{"name":"gate-0"},"value":"6"}]})"}};
}

TEST(TopTest, SumsAWorkloadAndTellsWhoIsSilent) {
  const TopTable table = GatherTop(Answering(TwoNamespaces()), "", kOurs, kNow);
  EXPECT_EQ(
      TopText(table, 10),
      "NAMESPACE  WORKLOAD              PUSHING    INBOUND   OUTBOUND  CONNECTIONS   OLDEST  "
      "AHEAD\n"
      "edge       StatefulSet/gate          1/1          7          6            -     1.0s  "
      "broken\n"
      "shop       StatefulSet/web           1/2        2.5          -            -     2.0s  off\n"
      "1 workload without telemetry\n");
  EXPECT_NE(TopText(table, 1).find("and 1 more"), std::string::npos);
}

TEST(TopTest, JsonLeavesOutWhatIsNotKnown) {
  const TopTable table = GatherTop(Answering(TwoNamespaces()), "", kOurs, kNow);
  EXPECT_EQ(
      TopJson(table),
      R"({"workloads":[{"namespace":"edge","workload":"StatefulSet/gate","pods":1,"pushing":1,)"
      R"("oldestSeconds":1E0,"inbound_active_requests":7E0,"outbound_active_requests":6E0,)"
      R"("scaleAhead":"broken"},)"
      R"({"namespace":"shop","workload":"StatefulSet/web","pods":2,"pushing":1,)"
      R"("oldestSeconds":2E0,"inbound_active_requests":2.5E0,"scaleAhead":"off"}],"silentWorkloads":1,"faults":[]})"
      "\n");
}

TEST(TopTest, AnApiThatIsNotThereIsAFault) {
  const TopTable table =
      GatherTop(Answering({{"/api/v1/pods", R"({"items":[)" + Pod("shop", "web-0", "web") + "]}"}},
                          "the server could not find the requested resource"),
                "", kOurs, kNow);
  ASSERT_EQ(table.faults.size(), 1U);
  EXPECT_NE(TopText(table, 5).find("cannot read: the server could not find"), std::string::npos);
}

TEST(TopTest, WithoutAReplicaToAskStepsAheadAreNotKnownAndThatIsNoFault) {
  const base::Error error{base::Code::kPermissionDenied, "cannot get pods/proxy"};
  const std::vector<base::Result<std::vector<ReplicaHealth>>> cases = {
      std::unexpected(error), std::vector{Ours("a", std::unexpected(error))}};
  for (const auto& replicas : cases) {
    const TopTable table = GatherTop(Answering(TwoNamespaces()), "", replicas, kNow);
    EXPECT_TRUE(table.faults.empty());
    const std::string text = TopText(table, 10);
    EXPECT_NE(text.find("1.0s  ?\n"), std::string::npos) << text;
    EXPECT_NE(text.find("steps ahead are not known: cannot get pods/proxy"), std::string::npos);
    EXPECT_EQ(TopJson(table).find("\"scaleAhead\""), std::string::npos);
    EXPECT_NE(TopJson(table).find(R"("scaleAheadFault":"cannot get)"), std::string::npos);
  }
}

TEST(TopTest, PodsThatMayNotBeListedAreAFault) {
  EXPECT_EQ(GatherTop(Answering({}, "forbidden"), "shop", kOurs, kNow).faults.size(), 1U);
}

}  // namespace
}  // namespace activescale::insight
