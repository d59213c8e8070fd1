#include "insight/overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/testing/fake_clock.h"
#include "insight/testing/situation.h"

namespace activescale::insight {
namespace {

using boost::json::parse;
using boost::json::serialize;
using metric::Quantity;
using testing::HasSubstr;
using testing::Not;

class OverviewTest : public testing::Test {
 protected:
  static WorkloadSight Sight(const std::string& name, int value, size_t pods = 2,
                             size_t missing = 0) {
    WorkloadSight sight{.ns = "shop", .name = name, .missing = missing};
    sight.pods.resize(pods);
    sight.loads[0] = Load{.total = Quantity::FromMilli(value * 1000),
                          .least = Quantity::FromMilli(500),
                          .most = Quantity::FromMilli(value * 1000)};
    return sight;
  }
  /// An HPA "NAME-hpa" of the Deployment NAME.
  void AddHpa(const std::string& name, int desired, const std::string& metrics = PodsMetric("5")) {
    hpas_.Upsert(
        parse(fmt::format(R"({{"metadata":{{"namespace":"shop","name":"{}-hpa"}},"spec":{{)"
                          R"("scaleTargetRef":{{"kind":"Deployment","name":"{}"}},)"
                          R"("minReplicas":2,"maxReplicas":9,"metrics":[{}]}},"status":{{)"
                          R"("currentReplicas":2,"desiredReplicas":{},)"
                          R"("lastScaleTime":"2026-11-30T05:00:00Z"}}}})",
                          name, name, metrics, desired))
            .as_object());
  }
  Overview Make() {
    return MakeOverview({.facts = facts_,
                         .fleet = fleet_,
                         .history = history_,
                         .hpas = hpas_.List(),
                         .deployments = deployments_,
                         .ahead = ahead_,
                         .streams = {{"replica-0", 7}},
                         .checks = {{"store", {ok_, "embedded"}}},
                         .problem = problem_});
  }

  base::FakeClock clock_;
  ServerFacts facts_{.version = "1.2", .pods_from = "kube-apiserver", .no_hpas = ""};
  Fleet fleet_{.at = clock_.WallNow()};
  LoadHistory history_;
  HpaTable hpas_;
  Deployments deployments_;
  AheadOf ahead_;
  std::string problem_;
  bool ok_ = true;
};

TEST_F(OverviewTest, TheWholeOfIt) {
  fleet_.workloads = {Sight("web", 12, 4, 1)};
  history_.Add(fleet_, clock_.Now());
  AddHpa("web", 3);
  deployments_[{"shop", "web"}] = {.wanted = 3, .ready = 2};
  EXPECT_EQ(
      OverviewJson(Make()),
      R"({"at":1000000000,"facts":{"version":"1.2","podsFrom":"kube-apiserver","noHpas":""},)"
      R"("streams":[["replica-0",7]],"checks":[{"name":"store","ok":true,"reason":"embedded"}],)"
      R"("problem":"","rows":[{"ns":"shop","name":"web","values":[12,null,null],)"
      R"("spread":[[0.5,12],null,null],"pods":[4,1,0],"heard":true,"hpa":{"name":"web-hpa",)"
      R"("fault":"","min":2,"max":9,"current":2,"desired":3,"changed":1796014800000,"ahead":"off",)"
      R"("targets":[{"title":"Pods inbound_active_requests","metric":"inbound_active_requests",)"
      R"("perPod":true,"type":"AverageValue","target":5}],"count":1},"replicas":[3,2]}]})");
}

TEST_F(OverviewTest, AChangeHasWhatChangedOnly) {
  fleet_.workloads = {Sight("api", 1), Sight("old", 2), Sight("web", 12)};
  const Overview before = Make();
  fleet_.workloads = {Sight("api", 1), Sight("new", 3), Sight("web", 13)};
  clock_.Advance(std::chrono::seconds(1));
  fleet_.at = clock_.WallNow();
  const Overview after = Make();
  EXPECT_EQ(ChangeJson(before, after),
            R"({"at":1000001000,"rows":[{"ns":"shop","name":"new","values":[3,null,null],)"
            R"("spread":[[0.5,3],null,null],"pods":[2,0,0],"heard":true,"hpa":null,)"
            R"("replicas":null},{"ns":"shop","name":"web","values":[13,null,null],)"
            R"("spread":[[0.5,13],null,null]}],"gone":[["shop","old"]]})");
  EXPECT_EQ(ChangeJson(after, after), R"({"at":1000001000,"rows":[],"gone":[]})");
}

TEST_F(OverviewTest, AWorkloadThatFellSilentWasHeardAndOneThatNeverSpokeWasNot) {
  fleet_.workloads = {Sight("web", 12)};
  history_.Add(fleet_, clock_.Now());
  fleet_.workloads = {Sight("mute", 0, 2, 2), Sight("web", 0, 2, 2)};
  const auto rows = parse(OverviewJson(Make())).at("rows");
  EXPECT_EQ(rows.at(0).at("heard"), false);
  EXPECT_EQ(rows.at(1).at("heard"), true);
}

TEST_F(OverviewTest, WhatAnHpaGetsOfStepsAheadIsToldWhenItChanges) {
  fleet_.workloads = {Sight("web", 12)};
  AddHpa("web", 3);
  std::string_view state = "on";
  ahead_ = [&state](std::string_view ns, std::string_view hpa) {
    return ns == "shop" && hpa == "web-hpa" ? state : "off";
  };
  const Overview before = Make();
  EXPECT_EQ(parse(OverviewJson(before)).at("rows").at(0).at("hpa").at("ahead"), "on");
  state = "broken";
  const auto rows = parse(ChangeJson(before, Make())).at("rows");
  EXPECT_EQ(rows.at(0).at("hpa").at("ahead"), "broken");
}

TEST_F(OverviewTest, ChecksAndProblemsAreToldWhenTheyChange) {
  const Overview before = Make();
  ok_ = false;
  problem_ = "the store does not answer";
  EXPECT_EQ(ChangeJson(before, Make()),
            R"({"at":1000000000,"checks":[{"name":"store","ok":false,"reason":"embedded"}],)"
            R"("problem":"the store does not answer","rows":[],"gone":[]})");
}

TEST_F(OverviewTest, ChangesApplyToTheWholeWhateverCameAndWent) {
  // Every subset of five names before against every one after, applied as the page does.
  const std::string names = "abcde";
  const auto make = [&](unsigned set, int value) {
    fleet_.workloads.clear();
    for (size_t i = 0; i < names.size(); ++i) {
      if ((set >> i & 1U) != 0) fleet_.workloads.push_back(Sight(names.substr(i, 1), value));
    }
    return Make();
  };
  for (unsigned from = 0; from < 32; ++from) {
    for (unsigned to = 0; to < 32; ++to) {
      const Overview before = make(from, 1);
      const Overview after = make(to, static_cast<int>(to % 2) + 1);
      boost::json::object rows;
      const auto apply = [&rows](const boost::json::value& document) {
        for (const auto& row : document.at("rows").as_array()) {
          auto& at = rows[row.at("name").as_string()];
          if (at.is_null()) at = boost::json::object();
          for (const auto& [key, value] : row.as_object()) at.as_object()[key] = value;
        }
      };
      apply(parse(OverviewJson(before)));
      const auto change = parse(ChangeJson(before, after));
      apply(change);
      for (const auto& gone : change.at("gone").as_array()) rows.erase(gone.at(1).as_string());
      boost::json::object want;
      const auto whole = parse(OverviewJson(after));
      for (const auto& row : whole.at("rows").as_array()) {
        want[row.at("name").as_string()] = row;
      }
      ASSERT_EQ(boost::json::value(rows), boost::json::value(want)) << from << " to " << to;
    }
  }
}

TEST_F(OverviewTest, HostileNamesAreStringsAndNothingElse) {
  WorkloadSight hostile = Sight("</script><img src=x onerror=alert(1)>\"\\\n\xff", 1);
  hostile.ns = "data: x\n\nevent: overview";
  fleet_.workloads = {hostile};
  const std::string text = OverviewJson(Make());
  EXPECT_THAT(text, Not(HasSubstr("\n")));
  const auto row = parse(text).at("rows").at(0);
  EXPECT_EQ(row.at("ns").as_string(), hostile.ns);
  EXPECT_EQ(row.at("name").as_string(), "</script><img src=x onerror=alert(1)>\"\\\n\xef\xbf\xbd");
}

TEST_F(OverviewTest, AnHpaWithoutPodsHasARowAndSeveralHpasOfOneTargetAreCounted) {
  fleet_.workloads = {Sight("web", 12)};
  AddHpa("api", 2);
  AddHpa("web", 3);
  AddHpa("zero", 0);
  hpas_.Upsert(parse(R"({"metadata":{"namespace":"shop","name":"second"},"spec":{
      "scaleTargetRef":{"kind":"Deployment","name":"web"},"maxReplicas":4,"metrics":[
      {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization",
       "averageUtilization":80}}}]}})")
                   .as_object());
  const auto rows = parse(OverviewJson(Make())).at("rows");
  ASSERT_EQ(rows.as_array().size(), 3U);
  EXPECT_EQ(rows.at(0).at("name"), "api");
  EXPECT_EQ(serialize(rows.at(0).at("pods")), "[0,0,0]");
  EXPECT_EQ(rows.at(1).at("name"), "web");
  EXPECT_EQ(rows.at(1).at("hpa").at("count"), 2);
  EXPECT_EQ(rows.at(1).at("hpa").at("name"), "second");
  EXPECT_EQ(rows.at(1).at("hpa").at("targets").at(0).at("target"), 80);
  EXPECT_EQ(rows.at(2).at("name"), "zero");
  hpas_.Remove("shop", "zero-hpa");
  EXPECT_EQ(parse(OverviewJson(Make())).at("rows").as_array().size(), 2U);
}

TEST_F(OverviewTest, AnHpaThatCannotBeReadSaysWhy) {
  AddHpa("web", 3, R"({"type":"Unheard"})");
  const auto hpa = parse(OverviewJson(Make())).at("rows").at(0).at("hpa");
  EXPECT_THAT(std::string(hpa.at("fault").as_string()), HasSubstr("Unheard"));
  EXPECT_EQ(hpa.at("desired"), 0);
}

}  // namespace
}  // namespace activescale::insight
