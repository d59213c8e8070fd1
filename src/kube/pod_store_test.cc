#include "kube/pod_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include <boost/json/parse.hpp>

#include "base/testing/fake_clock.h"

namespace activescale::kube {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Pod MakePod(std::string ns, std::string name, std::vector<metric::Labels::Entry> labels,
            OwnerRef owner = {}) {
  Pod pod;
  pod.ns = std::move(ns);
  pod.name = std::move(name);
  pod.labels = metric::Labels(std::move(labels));
  pod.owner = std::move(owner);
  pod.phase = PodPhase::kRunning;
  return pod;
}

std::vector<std::string> Names(const PodStore::Records& records) {
  std::vector<std::string> names;
  for (const PodStore::Record* record : records) names.emplace_back(record->name);
  return names;
}

class PodStoreTest : public ::testing::Test {
 protected:
  std::vector<std::string> Select(const std::string& ns, const std::string& selector) {
    const auto parsed = metric::Selector::Parse(selector);
    EXPECT_TRUE(parsed) << selector;
    return Names(store_.Select(ns, *parsed));
  }
  void Add(const Pod& pod) { store_.Upsert(pod, clock_); }

  base::FakeClock clock_;
  PodStore store_;
};

TEST_F(PodStoreTest, SelectsByEveryKindOfRequirementInOrderOfName) {
  Add(MakePod("a", "p3", {{"app", "web"}, {"tier", "x"}}));
  Add(MakePod("a", "p1", {{"app", "web"}, {"tier", "y"}}));
  Add(MakePod("a", "p2", {{"app", "db"}}));
  Add(MakePod("a", "p4", {}));
  Add(MakePod("b", "p5", {{"app", "web"}}));
  struct Case {
    std::string selector;
    std::vector<std::string> want;
  };
  const Case cases[] = {
      {"", {"p1", "p2", "p3", "p4"}},
      {"app=web", {"p1", "p3"}},
      {"app=web,tier=x", {"p3"}},
      {"app in (web,db)", {"p1", "p2", "p3"}},
      {"app in (none,db)", {"p2"}},
      {"app!=web", {"p2", "p4"}},
      {"app notin (web,db)", {"p4"}},
      {"app", {"p1", "p2", "p3"}},
      {"!app", {"p4"}},
      {"tier,app!=db", {"p1", "p3"}},
      {"app=web,!tier", {}},
      {"none=x", {}},
      {"none", {}},
      {"app=none", {}},
  };
  for (const Case& c : cases) EXPECT_EQ(Select("a", c.selector), c.want) << c.selector;
  EXPECT_THAT(Select("none", ""), IsEmpty());
}

TEST_F(PodStoreTest, AChangedPodIsFoundByWhatItIsNow) {
  Add(MakePod("a", "p", {{"app", "web"}}, {"rs1", "apps", "ReplicaSet"}));
  Add(MakePod("a", "p", {{"app", "db"}}, {"rs2", "apps", "ReplicaSet"}));
  EXPECT_THAT(Select("a", "app=web"), IsEmpty());
  EXPECT_THAT(Select("a", "app=db"), ElementsAre("p"));
  bool known = true;
  EXPECT_THAT(store_.OwnedBy("a", "replicasets.apps", "rs1", &known), IsEmpty());
  EXPECT_FALSE(known);
  EXPECT_THAT(Names(store_.OwnedBy("a", "replicasets.apps", "rs2", &known)), ElementsAre("p"));
  EXPECT_TRUE(known);
  EXPECT_EQ(store_.size(), 1U);
}

TEST_F(PodStoreTest, FinishedAndRemovedPodsAreGone) {
  Pod pod = MakePod("a", "p", {{"app", "web"}});
  for (const PodPhase phase : {PodPhase::kSucceeded, PodPhase::kFailed}) {
    pod.phase = PodPhase::kRunning;
    Add(pod);
    EXPECT_EQ(store_.size(), 1U);
    pod.phase = phase;
    Add(pod);
    EXPECT_EQ(store_.size(), 0U);
    EXPECT_THAT(Select("a", "app=web"), IsEmpty());
  }
  store_.Remove({"a", "p"});
  store_.Remove({"none", "p"});
  EXPECT_EQ(store_.size(), 0U);
}

TEST_F(PodStoreTest, ReadinessThatWeSawCountsFromThenAndOlderOneFromItsOwnTime) {
  Pod pod = MakePod("a", "old", {});
  pod.ready = true;
  pod.ready_since = clock_.WallNow() - seconds(100);
  Add(pod);
  EXPECT_EQ(store_.Find({"a", "old"})->ready_since, clock_.Now() - seconds(100));

  pod.name = "ahead";
  pod.ready_since = clock_.WallNow() + seconds(100);
  Add(pod);
  EXPECT_EQ(store_.Find({"a", "ahead"})->ready_since, clock_.Now());

  pod.name = "new";
  pod.ready = false;
  Add(pod);
  clock_.Advance(seconds(7));
  pod.ready = true;
  pod.ready_since = clock_.WallNow() - seconds(3000);  // their clock is wrong
  Add(pod);
  const auto seen = clock_.Now();
  clock_.Advance(seconds(7));
  Add(pod);
  EXPECT_EQ(store_.Find({"a", "new"})->ready_since, seen);
}

TEST_F(PodStoreTest, OwnersAreFoundByTheirResource) {
  Add(MakePod("a", "p2", {}, {"web", "apps", "StatefulSet"}));
  Add(MakePod("a", "p1", {}, {"web", "apps", "StatefulSet"}));
  Add(MakePod("a", "p3", {}, {"web", "apps.kruise.io", "StatefulSet"}));
  bool known = false;
  EXPECT_THAT(Names(store_.OwnedBy("a", "statefulsets.apps", "web", &known)),
              ElementsAre("p1", "p2"));
  EXPECT_THAT(Names(store_.OwnedBy("a", "statefulsets.apps.kruise.io", "web", &known)),
              ElementsAre("p3"));
  EXPECT_TRUE(known);
  EXPECT_THAT(store_.OwnedBy("a", "daemonsets.apps", "web", &known), IsEmpty());
  EXPECT_FALSE(known);
  EXPECT_THAT(store_.OwnedBy("b", "statefulsets.apps", "web", &known), IsEmpty());
}

TEST_F(PodStoreTest, TheWorkloadIsTheControllerOrTheDeploymentThatNamedItsReplicaSet) {
  struct Case {
    std::string pod;
    std::vector<metric::Labels::Entry> labels;
    OwnerRef owner;
    std::string want;
  };
  const Case cases[] = {
      {"a", {{"pod-template-hash", "5d7f"}}, {"web-5d7f", "apps", "ReplicaSet"}, "web"},
      {"b", {{"rollouts-pod-template-hash", "9c"}}, {"api-9c", "apps", "ReplicaSet"}, "api"},
      {"c", {{"pod-template-hash", "5d7f"}}, {"web5d7f", "apps", "ReplicaSet"}, "web5d7f"},
      {"d", {}, {"bare-set", "apps", "ReplicaSet"}, "bare-set"},
      {"e", {{"pod-template-hash", "0"}}, {"db-0", "apps", "StatefulSet"}, "db-0"},
      {"f", {}, {}, "f"},
  };
  for (const Case& c : cases) Add(MakePod("ns", c.pod, c.labels, c.owner));
  size_t seen = 0;
  store_.ForEach([&](std::string_view ns, const PodStore::Record& record) {
    EXPECT_EQ(ns, "ns");
    EXPECT_EQ(record.name, cases[seen].pod);
    EXPECT_EQ(PodStore::WorkloadOf(record), cases[seen++].want);
  });
  EXPECT_EQ(seen, std::size(cases));
}

TEST_F(PodStoreTest, ManyRandomChangesLeaveTheSameAsAScan) {
  std::mt19937 random(7);
  std::map<std::string, Pod> model;
  const auto pick = [&random](int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
  };
  for (int i = 0; i < 3000; ++i) {
    Pod pod = MakePod("a", "p" + std::to_string(pick(50)), {});
    if (pick(4) == 0) {
      store_.Remove({"a", pod.name});
      model.erase(pod.name);
      continue;
    }
    std::vector<metric::Labels::Entry> labels;
    for (const char* key : {"a", "b", "c"}) {
      if (pick(2) == 0) labels.emplace_back(key, std::to_string(pick(3)));
    }
    pod.labels = metric::Labels(std::move(labels));
    pod.owner = {"o" + std::to_string(pick(4)), "apps", "ReplicaSet"};
    Add(pod);
    model[pod.name] = pod;
  }
  EXPECT_EQ(store_.size(), model.size());
  for (const char* text : {"a=1", "a=1,b=2", "a in (0,2),!c", "b!=1,c", "c notin (0)", ""}) {
    const auto selector = *metric::Selector::Parse(text);
    std::vector<std::string> want;
    for (const auto& [name, pod] : model) {
      if (selector.Matches(pod.labels)) want.push_back(name);
    }
    EXPECT_EQ(Select("a", text), want) << text;
  }
}

TEST(PodTest, ReadsAPod) {
  const auto json = boost::json::parse(R"({
    "metadata": {"namespace": "ns", "name": "web-1", "labels": {"b": "2", "a": "1", "n": 3},
      "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T04:00:00Z",
      "ownerReferences": [{"kind": "Node", "name": "n", "apiVersion": "v1"},
        {"kind": "ReplicaSet", "name": "web", "apiVersion": "apps/v1", "controller": true}]},
    "status": {"phase": "Running", "podIP": "10.0.0.5",
      "podIPs": [{"ip": "10.0.0.5"}, {"ip": "fd00::5"}, {"ip": "?"}, 3],
      "conditions": [{"type": "Initialized", "status": "True"}, 7,
        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:15Z"}]}})");
  const Pod pod = ParsePod(json.as_object());
  EXPECT_EQ(pod.ns, "ns");
  EXPECT_EQ(pod.name, "web-1");
  EXPECT_EQ(pod.labels, metric::Labels({{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(pod.owner, (OwnerRef{"web", "apps", "ReplicaSet"}));
  EXPECT_THAT(pod.ips, ElementsAre(*IpAddress::Parse("10.0.0.5"), *IpAddress::Parse("fd00::5")));
  EXPECT_EQ(pod.phase, PodPhase::kRunning);
  EXPECT_TRUE(pod.ready);
  EXPECT_TRUE(pod.terminating);
  ASSERT_TRUE(pod.ready_since.has_value());
  EXPECT_EQ(*pod.ready_since - pod.created, seconds(10));
  EXPECT_EQ(base::WallTime::clock::to_time_t(pod.created), 1767323045);
}

TEST(PodTest, WhatIsOfAnotherTypeIsAsIfAbsent) {
  const auto json = boost::json::parse(R"({"metadata": {"name": 3, "labels": [], "ownerReferences":
    {"a": 1}}, "status": {"phase": "Odd", "podIP": {}, "podIPs": "x", "conditions": {}}})");
  const Pod pod = ParsePod(json.as_object());
  EXPECT_EQ(pod.name, "");
  EXPECT_TRUE(pod.labels.empty());
  EXPECT_EQ(pod.owner, OwnerRef());
  EXPECT_THAT(pod.ips, IsEmpty());
  EXPECT_EQ(pod.phase, PodPhase::kUnknown);
  EXPECT_FALSE(pod.ready);
  EXPECT_FALSE(pod.terminating);
}

TEST(PodTest, TimesAndAddresses) {
  EXPECT_TRUE(ParseTime("2026-01-02T03:04:05.123456Z"));
  for (const char* text : {"", "2026-01-02", "2026-01-02T03:04:05", "2026-13-02T03:04:05Z",
                           "2026-02-30T03:04:05Z", "2026-01-02 03:04:05Z"}) {
    EXPECT_FALSE(ParseTime(text)) << text;
  }
  EXPECT_EQ(IpAddress::Parse("10.1.2.3"), IpAddress::Parse("::ffff:10.1.2.3"));
  EXPECT_EQ(IpAddress::Parse("fe80::1%eth0"), IpAddress::Parse("fe80::1"));
  EXPECT_NE(IpAddress::Parse("10.1.2.3"), IpAddress::Parse("10.1.2.4"));
  EXPECT_FALSE(IpAddress::Parse("localhost"));
}

TEST(ResourceOfTest, GuessesThePlural) {
  EXPECT_EQ(ResourceOf("apps", "Deployment"), "deployments.apps");
  EXPECT_EQ(ResourceOf("", "Service"), "services");
  EXPECT_EQ(ResourceOf("networking.k8s.io", "Ingress"), "ingresses.networking.k8s.io");
  EXPECT_EQ(ResourceOf("x", "Policy"), "policies.x");
  EXPECT_EQ(ResourceOf("x", "Gateway"), "gateways.x");
  EXPECT_EQ(ResourceOf("x", "Mesh"), "meshes.x");
}

}  // namespace
}  // namespace activescale::kube
