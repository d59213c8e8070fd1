#include "kube/watch_pod_index.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <utility>

#include "base/testing/fake_clock.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/loop_thread.h"

namespace activescale::kube {
namespace {

using base::Code;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kListPods = "LIST /api/v1/pods";
constexpr const char* kWatchPods = "WATCH /api/v1/pods";

std::string PodJson(const std::string& name, const std::string& app, const std::string& owner,
                    const std::string& status = R"("phase":"Running")",
                    const std::string& metadata = "") {
  const size_t slash = owner.find('/');
  return ObjectJson(
      "ns", name,
      fmt::format(R"("labels":{{"app":"{}"}},"ownerReferences":[{{"apiVersion":"apps/v1",)"
                  R"("kind":"{}","name":"{}","controller":true}}]{})",
                  app, owner.substr(0, slash), owner.substr(slash + 1), metadata),
      R"("status":{)" + status + "}");
}

std::vector<std::string> Names(const base::Result<std::vector<metric::PodKey>>& keys) {
  std::vector<std::string> names;
  if (!keys) return {keys.error().message};
  for (const auto& key : *keys) names.push_back(key.name);
  return names;
}

std::vector<std::string> Names(const base::Result<std::vector<WorkloadPod>>& pods) {
  std::vector<std::string> names;
  if (!pods) return {pods.error().message};
  for (const auto& pod : *pods) names.push_back(pod.key.name + (pod.starting ? " starting" : ""));
  return names;
}

class WatchPodIndexTest : public ::testing::Test {
 protected:
  ~WatchPodIndexTest() override { loop_.Stop(); }

  void Start(WatchPodIndex::Options options = {}) {
    Watcher::Options watcher;
    watcher.list_watch.backoff_min = milliseconds(2);
    watcher.list_watch.backoff_max = milliseconds(10);
    api_ = std::make_unique<ApiClient>(loop_.http(), server_.access(), clock_);
    index_ = std::make_unique<WatchPodIndex>(WatchGroup::Context{.api = *api_,
                                                                 .registry = registry_,
                                                                 .clock = clock_,
                                                                 .random = [] { return 0.5; },
                                                                 .watcher = watcher},
                                             std::move(options));
    index_->Start();
  }
  void StartWith(const std::vector<std::string>& pods, WatchPodIndex::Options options = {}) {
    server_.On(kListPods, Respond(200, ListJson(pods, "5")));
    server_.On(kWatchPods, WatchAndHang({}));
    Start(std::move(options));
    ASSERT_TRUE(Eventually([this] { return index_->Health().ok; }));
  }
  /// Asks until the objects that it needs are read.
  std::vector<std::string> PodsOf(const std::string& resource, const std::string& name) {
    base::Result<std::vector<WorkloadPod>> pods;
    EXPECT_TRUE(Eventually([&] {
      pods = index_->PodsOf("ns", {resource, name});
      return pods.has_value() || pods.error().code != Code::kUnavailable;
    }));
    return Names(pods);
  }

  base::FakeClock clock_;
  telemetry::Registry registry_;
  FakeApiServer server_;
  LoopThread loop_;
  std::unique_ptr<ApiClient> api_;
  std::unique_ptr<WatchPodIndex> index_;
};

const metric::Selector kWeb = *metric::Selector::Parse("app=web");

TEST_F(WatchPodIndexTest, BeforeTheFirstListTheAnswerIsUnavailableNotEmpty) {
  server_.On(kListPods, Respond(403, StatusJson(403, "Forbidden", "no list of pods")));
  Start();
  ASSERT_TRUE(Eventually(
      [this] { return index_->Health().reason.find("no list of pods") != std::string::npos; }));
  EXPECT_FALSE(index_->Health().ok);
  const auto pods = index_->Select("ns", kWeb);
  ASSERT_FALSE(pods);
  EXPECT_EQ(pods.error().code, Code::kUnavailable);
  EXPECT_THAT(pods.error().message, HasSubstr("first list of pods is not complete yet"));
  EXPECT_THAT(pods.error().message, HasSubstr("403: no list of pods"));
  EXPECT_EQ(index_->Contains({"ns", "a"}).error().code, Code::kUnavailable);
  EXPECT_EQ(index_->PodsOf("ns", {"services", "web"}).error().code, Code::kUnavailable);
  EXPECT_EQ(index_->CheckPeer({"ns", "a"}, "10.0.0.1"), PeerVerdict::kNotSynced);
}

TEST_F(WatchPodIndexTest, FinishedPodsNeverAndTerminatingOnesOnlyIfAsked) {
  const std::vector<std::string> pods = {
      PodJson("a", "web", "ReplicaSet/rs"), PodJson("b", "other", "ReplicaSet/rs"),
      PodJson("done", "web", "ReplicaSet/rs", R"("phase":"Succeeded")"),
      PodJson("going", "web", "ReplicaSet/rs", R"("phase":"Running")",
              R"(,"deletionTimestamp":"2026-01-02T03:04:05Z")"),
      PodJson("pending", "web", "ReplicaSet/rs", R"("phase":"Pending")")};
  StartWith(pods);
  EXPECT_THAT(Names(index_->Select("ns", kWeb)), ElementsAre("a", "pending"));
  EXPECT_THAT(Names(index_->Select("elsewhere", kWeb)), IsEmpty());
  EXPECT_EQ(index_->Contains({"ns", "a"}), true);
  EXPECT_EQ(index_->Contains({"ns", "going"}), true) << "it still serves";
  EXPECT_EQ(index_->Contains({"ns", "done"}), false);
  const auto described = index_->Describe("ns", kWeb);
  ASSERT_TRUE(described);
  ASSERT_EQ(described->size(), 3U);
  EXPECT_TRUE((*described)[1].terminating);
  EXPECT_EQ((*described)[2].phase, PodPhase::kPending);
  EXPECT_TRUE(index_->Find({"ns", "going"}) && index_->Find({"ns", "going"})->terminating);
  EXPECT_FALSE(index_->Find({"ns", "done"}));
  EXPECT_THAT(server_.Requests(kListPods)[0].target,
              HasSubstr("fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"));
}

TEST_F(WatchPodIndexTest, TerminatingPodsAreKeptByTheOption) {
  StartWith({PodJson("going", "web", "ReplicaSet/rs", R"("phase":"Running")",
                     R"(,"deletionTimestamp":"2026-01-02T03:04:05Z")")},
            {.namespaces = {}, .include_terminating = true});
  EXPECT_THAT(Names(index_->Select("ns", kWeb)), ElementsAre("going"));
}

TEST_F(WatchPodIndexTest, WorkloadsAreFoundThroughReplicaSetsThatAreWatchedWhenAsked) {
  std::promise<void> asked;
  server_.On("LIST /apis/apps/v1/replicasets",
             [sets = ListJson({ObjectJson("ns", "web-1",
                                          R"("ownerReferences":[{"apiVersion":"apps/v1",)"
                                          R"("kind":"Deployment","name":"web",)"
                                          R"("controller":true}])"),
                               ObjectJson("ns", "web-2",
                                          R"("ownerReferences":[{"apiVersion":"apps/v1",)"
                                          R"("kind":"Deployment","name":"web",)"
                                          R"("controller":true}])"),
                               ObjectJson("ns", "roll-1",
                                          R"("ownerReferences":[{"apiVersion":)"
                                          R"("argoproj.io/v1alpha1","kind":"Rollout",)"
                                          R"("name":"roll","controller":true}])")},
                              "7"),
              may_answer = asked.get_future().share()](const net::HttpRequest&,
                                                       FakeApiServer::Reply& reply) {
               may_answer.wait();
               reply.Send(200, sets);
             });
  server_.On("WATCH /apis/apps/v1/replicasets", WatchAndHang({}));
  StartWith({PodJson("b", "x", "ReplicaSet/web-1"), PodJson("a", "x", "ReplicaSet/web-2"),
             PodJson("c", "x", "ReplicaSet/roll-1"), PodJson("d", "x", "StatefulSet/db")});
  EXPECT_THAT(PodsOf("statefulsets.apps", "db"), ElementsAre("d starting"));
  EXPECT_THAT(server_.Requests("LIST /apis/apps/v1/replicasets"), IsEmpty());
  EXPECT_EQ(index_->PodsOf("ns", {"deployments.apps", "web"}).error().code, Code::kUnavailable);
  std::promise<base::Result<std::vector<WorkloadPod>>> prepared;
  index_->Prepare("ns", {"deployments.apps", "web"},
                  [&] { prepared.set_value(index_->PodsOf("ns", {"deployments.apps", "web"})); });
  asked.set_value();
  EXPECT_THAT(Names(prepared.get_future().get()), ElementsAre("a starting", "b starting"));
  EXPECT_THAT(PodsOf("deployments.apps", "web"), ElementsAre("a starting", "b starting"));
  EXPECT_THAT(PodsOf("rollouts.argoproj.io", "roll"), ElementsAre("c starting"));
  EXPECT_THAT(PodsOf("pods", "c"), ElementsAre("c starting"));
  for (const auto& [resource, name] :
       {std::pair{"deployments.apps", "none"}, {"statefulsets.apps", "web"}, {"pods", "none"}}) {
    EXPECT_EQ(index_->PodsOf("ns", {resource, name}).error().code, Code::kNotFound) << resource;
  }
  EXPECT_THAT(server_.Requests("LIST /apis/apps/v1/replicasets")[0].FindHeader("Accept"),
              HasSubstr("as=PartialObjectMetadataList"));
}

TEST_F(WatchPodIndexTest, CronJobsAreFoundThroughTheirJobs) {
  server_.On("LIST /apis/batch/v1/jobs",
             Respond(200, ListJson({ObjectJson("ns", "tick-1",
                                               R"("ownerReferences":[{"apiVersion":"batch/v1",)"
                                               R"("kind":"CronJob","name":"tick",)"
                                               R"("controller":true}])")},
                                   "7")));
  server_.On("WATCH /apis/batch/v1/jobs", WatchAndHang({}));
  StartWith({ObjectJson("ns", "a",
                        R"("ownerReferences":[{"apiVersion":"batch/v1","kind":"Job",)"
                        R"("name":"tick-1","controller":true}])",
                        R"("status":{"phase":"Running"})")});
  EXPECT_THAT(PodsOf("jobs.batch", "tick-1"), ElementsAre("a starting"));
  EXPECT_THAT(server_.Requests("LIST /apis/batch/v1/jobs"), IsEmpty());
  EXPECT_THAT(PodsOf("cronjobs.batch", "tick"), ElementsAre("a starting"));
  EXPECT_THAT(server_.Requests("LIST /apis/apps/v1/replicasets"), IsEmpty());
}

TEST_F(WatchPodIndexTest, WhatIsKnownOrRefusedIsNotWaitedFor) {
  server_.On("LIST /api/v1/services", Respond(403, StatusJson(403, "Forbidden", "no Services")));
  StartWith({PodJson("a", "x", "StatefulSet/db")});
  bool called = false;
  for (const WorkloadRef& direct : {WorkloadRef{"statefulsets.apps", "db"}, {"pods", "a"}}) {
    index_->Prepare("ns", direct, [&] { called = true; });
    EXPECT_TRUE(std::exchange(called, false)) << direct.resource;
  }
  std::promise<base::Result<std::vector<WorkloadPod>>> refused;
  index_->Prepare("ns", {"services", "web"},
                  [&] { refused.set_value(index_->PodsOf("ns", {"services", "web"})); });
  EXPECT_THAT(Names(refused.get_future().get()), ElementsAre(HasSubstr("403: no Services")));
}

TEST_F(WatchPodIndexTest, ServicesAreFoundByTheirSelector) {
  server_.On(
      "LIST /api/v1/services",
      Respond(200, ListJson({ObjectJson("ns", "web", "", R"("spec":{"selector":{"app":"web"}})"),
                             ObjectJson("ns", "external", "", R"("spec":{})")},
                            "7")));
  server_.On("WATCH /api/v1/services", WatchAndHang({}));
  StartWith({PodJson("a", "web", "ReplicaSet/r"), PodJson("b", "db", "ReplicaSet/r")});
  EXPECT_THAT(server_.Requests("LIST /api/v1/services"), IsEmpty());
  EXPECT_THAT(PodsOf("services", "web"), ElementsAre("a starting"));
  EXPECT_THAT(PodsOf("services", "external"), ElementsAre(HasSubstr("has no selector")));
  EXPECT_THAT(PodsOf("services", "none"), ElementsAre(HasSubstr("no Service ns/none")));
}

TEST_F(WatchPodIndexTest, APodIsStartingUntilItIsReadyForAsLongAsTheGrace) {
  StartWith({PodJson("new", "x", "StatefulSet/db",
                     R"("phase":"Running","conditions":[{"type":"Ready","status":"True"}])"),
             PodJson("unready", "x", "StatefulSet/db",
                     R"("phase":"Running","conditions":[{"type":"Ready","status":"False"}])")},
            {.starting_grace = seconds(20)});
  EXPECT_THAT(PodsOf("statefulsets.apps", "db"), ElementsAre("new starting", "unready starting"));
  clock_.Advance(seconds(20));
  EXPECT_THAT(PodsOf("statefulsets.apps", "db"), ElementsAre("new", "unready starting"));
}

TEST_F(WatchPodIndexTest, RestrictedToNamespacesEachHasItsWatchAndOthersAreNotKnown) {
  for (const std::string ns : {"ns", "two"}) {
    server_.On("LIST /api/v1/namespaces/" + ns + "/pods",
               Respond(200, ListJson({ObjectJson(ns, "in-" + ns)}, "5")));
    server_.On("WATCH /api/v1/namespaces/" + ns + "/pods", WatchAndHang({}));
  }
  Start({.namespaces = {"ns", "two"}});
  ASSERT_TRUE(Eventually([this] { return index_->Health().ok; }));
  EXPECT_THAT(Names(index_->Select("ns", {})), ElementsAre("in-ns"));
  EXPECT_THAT(Names(index_->Select("two", {})), ElementsAre("in-two"));
  const auto other = index_->Select("three", {});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kNotFound);
  EXPECT_THAT(other.error().message, HasSubstr("--namespaces"));
}

TEST_F(WatchPodIndexTest, WithoutContactForTooLongReadsAreRefusedAndTheReplicaStays) {
  StartWith({PodJson("a", "web", "ReplicaSet/r")});
  ASSERT_TRUE(Eventually([this] { return server_.Requests(kWatchPods).size() == 1; }));
  ASSERT_TRUE(Eventually([this] {
    const auto pods = index_->Select("ns", kWeb);
    clock_.Advance(seconds(60));
    return !pods.has_value();
  }));
  const auto pods = index_->Select("ns", kWeb);
  ASSERT_FALSE(pods);
  EXPECT_EQ(pods.error().code, Code::kUnavailable);
  EXPECT_THAT(pods.error().message, HasSubstr("no contact with the API server"));
  EXPECT_TRUE(index_->Health().ok);
  EXPECT_THAT(registry_.Render(), HasSubstr("activescale_kube_pods 1"));
}

TEST_F(WatchPodIndexTest, APeerMustHaveTheAddressOfThePodThatItClaimsToBe) {
  StartWith({PodJson("a", "web", "ReplicaSet/r",
                     R"("podIP":"10.0.0.5","podIPs":[{"ip":"10.0.0.5"},{"ip":"fd00::5"}])"),
             PodJson("fresh", "web", "ReplicaSet/r")});
  struct Case {
    std::string pod;
    std::string peer;
    PeerVerdict want;
  };
  const Case cases[] = {
      {"a", "10.0.0.5:4000", PeerVerdict::kMatch},
      {"a", "ipv4:10.0.0.5:4000", PeerVerdict::kMatch},
      {"a", "[fd00::5]:4000", PeerVerdict::kMatch},
      {"a", "ipv6:%5Bfd00::5%5D:4000", PeerVerdict::kMatch},
      {"a", "::ffff:10.0.0.5", PeerVerdict::kMatch},
      {"a", "10.0.0.6:4000", PeerVerdict::kMismatch},
      {"a", "unix:/run/x", PeerVerdict::kNoAddress},
      {"a", "[fd00::5", PeerVerdict::kNoAddress},
      {"fresh", "10.0.0.5", PeerVerdict::kNoAddress},
      {"none", "10.0.0.5", PeerVerdict::kUnknownPod},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(index_->CheckPeer({"ns", c.pod}, c.peer), c.want) << c.pod << " " << c.peer;
  }
}

}  // namespace
}  // namespace activescale::kube
