#include "insight/workload_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/testing/fake_clock.h"
#include "insight/testing/situation.h"

namespace activescale::insight {
namespace {

using boost::json::serialize;
using metric::Quantity;
using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr std::string_view kCpu =
    R"({"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization",)"
    R"("averageUtilization":80}}})";

class WorkloadPageTest : public testing::Test {
 protected:
  /// A pod of shop/web; without a value it is missing.
  void AddPod(const std::string& name, std::optional<int> value, bool ready = true) {
    WorkloadSight& web = fleet_.workloads[0];
    PodSight& pod = web.pods.emplace_back(PodSight{.name = name});
    if (value) {
      pod.values[0] = Quantity::FromMilli(*value * 1000);
      pod.age = milliseconds(1'500);
      const Quantity total = web.loads[0] ? web.loads[0]->total : Quantity();
      web.loads[0] = Load{.total = total.SaturatingAdd(*pod.values[0])};
    } else {
      ++web.missing;
    }
    infos_[name] = {.name = name, .phase = kube::PodPhase::kRunning, .ready = ready};
  }
  void SetHpa(const std::string& metrics, const std::string& conditions = "",
              int current_replicas = 2) {
    hpas_.Upsert(
        boost::json::parse(
            fmt::format(R"({{"metadata":{{"namespace":"shop","name":"web-hpa"}},"spec":{{)"
                        R"("scaleTargetRef":{{"kind":"Deployment","name":"web"}},)"
                        R"("minReplicas":1,"maxReplicas":9,"metrics":[{}]}},"status":{{)"
                        R"("currentReplicas":{},"desiredReplicas":2,"conditions":[{}]}}}})",
                        metrics, current_replicas, conditions))
            .as_object());
  }
  boost::json::value Page(const std::string& name = "web") {
    return boost::json::parse(WorkloadJson({.ns = "shop",
                                            .name = name,
                                            .facts = facts_,
                                            .fleet = fleet_,
                                            .hpas = hpas_.List(),
                                            .deployments = deployments_,
                                            .ahead = ahead_,
                                            .find_pod = find_pod_,
                                            .problem = ""}));
  }

  base::FakeClock clock_;
  ServerFacts facts_;
  Fleet fleet_{.at = clock_.WallNow(), .workloads = {{.ns = "shop", .name = "web"}}};
  HpaTable hpas_;
  AheadOf ahead_ = [](std::string_view, std::string_view) { return "observe"; };
  Deployments deployments_;
  std::map<std::string, kube::PodInfo, std::less<>> infos_;
  std::function<std::optional<kube::PodInfo>(metric::PodKeyView)> find_pod_ =
      [this](metric::PodKeyView pod) -> std::optional<kube::PodInfo> {
    const auto at = infos_.find(pod.name);
    return at == infos_.end() ? std::nullopt : std::optional(at->second);
  };
};

TEST_F(WorkloadPageTest, ListsPodsWithTheirValuesAgeAndState) {
  AddPod("web-a", 12);
  AddPod("web-b", std::nullopt, false);
  AddPod("web-c", 0);
  infos_["web-c"].terminating = true;
  AddPod("web-d", 0);
  infos_.erase("web-d");
  const auto page = Page();
  EXPECT_EQ(page.at("known"), true);
  EXPECT_EQ(serialize(page.at("values")), "[12,null,null]");
  EXPECT_EQ(serialize(page.at("counts")), "[4,1,0]");
  EXPECT_EQ(serialize(page.at("pods").at(0)),
            R"({"name":"web-a","values":[12,null,null],"age":1500,"state":"ready"})");
  EXPECT_EQ(serialize(page.at("pods").at(1)),
            R"({"name":"web-b","values":[null,null,null],"age":null,"state":"not ready"})");
  EXPECT_EQ(page.at("pods").at(2).at("state"), "terminating");
  EXPECT_EQ(page.at("pods").at(3).at("state"), "gone");
}

TEST_F(WorkloadPageTest, AWorkloadThatIsNotKnownIsToldSo) {
  const auto page = Page("other");
  EXPECT_EQ(page.at("known"), false);
  EXPECT_EQ(serialize(page.at("pods")), "[]");
  EXPECT_EQ(page.at("name"), "other");
}

TEST_F(WorkloadPageTest, ExplainsTheNextSyncFromWhatIsWatched) {
  AddPod("web-a", 12);
  AddPod("web-b", 8);
  SetHpa(PodsMetric("5"));
  deployments_[{"shop", "web"}] = {.wanted = 2, .ready = 2};
  const auto hpa = Page().at("hpas").at(0);
  EXPECT_EQ(hpa.at("ahead"), "observe");
  const auto& explanation = hpa.at("explanation");
  EXPECT_EQ(explanation.at("from"), 2);
  EXPECT_EQ(explanation.at("replicas"), 4);
  EXPECT_EQ(explanation.at("certain"), true);
  EXPECT_THAT(std::string(explanation.at("metrics").at(0).at("how").as_string()),
              HasSubstr("mean 10 of 2 pods / target 5 = ratio 2"));
  EXPECT_EQ(serialize(explanation.at("unseen")), "[]");
}

TEST_F(WorkloadPageTest, APodThatIsNotReadyOrDoesNotPushCountsAsTheControllerHasIt) {
  AddPod("web-a", 12);
  AddPod("web-b", std::nullopt);
  SetHpa(PodsMetric("5"));
  const auto explanation = Page().at("hpas").at(0).at("explanation");
  // 12 / 5 over one pod is 2.4; with the silent one as idle 1.2 over two.
  EXPECT_EQ(explanation.at("replicas"), 3);
  EXPECT_THAT(std::string(explanation.at("notes").at(0).as_string()),
              HasSubstr("1 pod is without a value"));
}

TEST_F(WorkloadPageTest, MetricsThatThePageDoesNotSeeAreNamedAndNothingIsCertain) {
  AddPod("web-a", 5);
  AddPod("web-b", 5);
  SetHpa(PodsMetric("5") + "," + std::string(kCpu) + "," + ExternalMetric("Value", "3"));
  const auto explanation = Page().at("hpas").at(0).at("explanation");
  EXPECT_EQ(explanation.at("replicas"), 2);
  EXPECT_EQ(explanation.at("certain"), false);
  EXPECT_EQ(serialize(explanation.at("unseen")), R"(["Resource cpu","External inflight"])");
  EXPECT_EQ(explanation.at("metrics").as_array().size(), 1U);
}

TEST_F(WorkloadPageTest, WithoutAMetricThatIsSeenThereIsNoExplanation) {
  AddPod("web-a", 5);
  SetHpa(std::string(kCpu), ConditionJson("AbleToScale", "True", "ReadyForNewScale"));
  const auto hpa = Page().at("hpas").at(0);
  EXPECT_TRUE(hpa.at("explanation").is_null());
  EXPECT_EQ(hpa.at("conditions").at(0).at("reason"), "ReadyForNewScale");
}

TEST_F(WorkloadPageTest, ASelectorThatTheControllerCannotUseIsTold) {
  AddPod("web-a", 50);
  SetHpa(PodsMetric("5"), ConditionJson("ScalingActive", "False", "AmbiguousSelector"));
  const auto explanation = Page().at("hpas").at(0).at("explanation");
  EXPECT_EQ(explanation.at("replicas"), 2);
  EXPECT_THAT(serialize(explanation.at("notes")), HasSubstr("more than one HPA"));
}

TEST_F(WorkloadPageTest, AnHpaOfAWorkloadWithoutPodsIsShown) {
  fleet_.workloads.clear();
  SetHpa(PodsMetric("5"), "", 0);
  const auto page = Page();
  EXPECT_EQ(page.at("known"), false);
  EXPECT_EQ(page.at("hpas").at(0).at("name"), "web-hpa");
  EXPECT_EQ(page.at("hpas").at(0).at("explanation").at("replicas"), 0);
}

TEST_F(WorkloadPageTest, TheListOfPodsIsBoundedAndSaysHowManyThereAre) {
  for (size_t i = 0; i < kMaxListedPods + 5; ++i) AddPod("web-" + std::to_string(i), 1);
  const auto page = Page();
  EXPECT_EQ(page.at("pods").as_array().size(), kMaxListedPods);
  EXPECT_EQ(page.at("counts").at(0), kMaxListedPods + 5);
}

}  // namespace
}  // namespace activescale::insight
