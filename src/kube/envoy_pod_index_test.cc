#include "kube/envoy_pod_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/testing/fake_clock.h"

namespace activescale::kube {
namespace {

using metric::Labels;
using metric::PodKey;
using metric::Selector;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

EnvoyPod Of(const std::string& app, const std::string& workload = "") {
  return {.labels = Labels({{"app", app}}), .workload_name = workload, .ip = ""};
}

class EnvoyPodIndexTest : public testing::Test {
 protected:
  std::vector<std::string> Select(const std::string& ns, const std::string& selector = "") {
    std::vector<std::string> names;
    const auto pods = index_.Select(ns, *Selector::Parse(selector));
    for (const PodKey& pod : *pods) {
      EXPECT_EQ(pod.ns, ns);
      names.push_back(pod.name);
    }
    return names;
  }

  std::vector<std::string> PodsOf(const std::string& resource, const std::string& name) {
    std::vector<std::string> names;
    const auto pods = index_.PodsOf("shop", {resource, name});
    if (!pods) {
      EXPECT_EQ(pods.error().code, base::Code::kNotFound);
      return {"not found"};
    }
    for (const WorkloadPod& pod : *pods) names.push_back(pod.key.name);
    return names;
  }

  base::FakeClock clock_;
  EnvoyPodIndex index_{seconds(60), clock_};
};

TEST_F(EnvoyPodIndexTest, SelectsByNamespaceAndLabelsInOrderOfName) {
  const auto b = index_.Add({"shop", "b"}, Of("web"));
  const auto a = index_.Add({"shop", "a"}, Of("web"));
  const auto c = index_.Add({"shop", "c"}, Of("db"));
  const auto other = index_.Add({"test", "d"}, Of("web"));
  EXPECT_THAT(Select("shop", "app=web"), ElementsAre("a", "b"));
  EXPECT_THAT(Select("shop"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Select("shop", "app notin (web)"), ElementsAre("c"));
  EXPECT_THAT(Select("nowhere"), IsEmpty());
}

TEST_F(EnvoyPodIndexTest, SilentPodIsKnownForItsGraceAndThenForgotten) {
  auto presence = index_.Add({"shop", "a"}, Of("web"));
  clock_.Advance(seconds(30));
  presence->Touch(clock_.Now());
  presence.reset();
  clock_.Advance(seconds(59));
  index_.Expire(clock_.Now());
  EXPECT_TRUE(*index_.Contains({"shop", "a"}));
  EXPECT_THAT(Select("shop"), ElementsAre("a"));
  clock_.Advance(seconds(1));
  EXPECT_FALSE(*index_.Contains({"shop", "a"})) << "also before it is removed";
  EXPECT_THAT(Select("shop"), IsEmpty());
  index_.Expire(clock_.Now());
  EXPECT_FALSE(*index_.Contains({"shop", "a"}));
}

TEST_F(EnvoyPodIndexTest, PodOfAnOpenStreamThatSpeaksAgainIsKnownAgain) {
  const auto presence = index_.Add({"shop", "a"}, Of("web"));
  clock_.Advance(seconds(100));
  index_.Expire(clock_.Now());
  EXPECT_THAT(Select("shop"), IsEmpty());
  presence->Touch(clock_.Now());
  EXPECT_THAT(Select("shop", "app=web"), ElementsAre("a"));
}

TEST_F(EnvoyPodIndexTest, NewestStreamDescribesThePod) {
  const auto older = index_.Add({"shop", "a"}, Of("web", "web"));
  const auto newer = index_.Add({"shop", "a"}, Of("web2", "web2"));
  older->Touch(clock_.Now());
  EXPECT_THAT(Select("shop", "app=web"), IsEmpty());
  EXPECT_THAT(Select("shop", "app=web2"), ElementsAre("a"));
  EXPECT_THAT(PodsOf("deployments.apps", "web2"), ElementsAre("a"));
}

TEST_F(EnvoyPodIndexTest, WorkloadIsFoundUnderEveryKindOfAppsAndBatch) {
  const auto a = index_.Add({"shop", "web-a"}, Of("web", "web"));
  const auto b = index_.Add({"shop", "web-b"}, Of("web", "web"));
  const auto c = index_.Add({"shop", "db-0"}, Of("db", "db"));
  for (const char* resource : {"deployments.apps", "statefulsets.apps", "daemonsets.apps",
                               "replicasets.apps", "jobs.batch", "cronjobs.batch"}) {
    EXPECT_THAT(PodsOf(resource, "web"), ElementsAre("web-a", "web-b")) << resource;
  }
  EXPECT_THAT(PodsOf("services", "web"), ElementsAre("not found"));
  EXPECT_THAT(PodsOf("deployments.apps", "nothing"), ElementsAre("not found"));
}

TEST_F(EnvoyPodIndexTest, PodWithoutWorkloadIsOfNoWorkload) {
  const auto presence = index_.Add({"shop", "a"}, Of("web"));
  EXPECT_THAT(PodsOf("deployments.apps", ""), ElementsAre("not found"));
}

TEST_F(EnvoyPodIndexTest, EightThreadsAddTouchSelectAndExpire) {
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 300; ++i) {
        const PodKey pod{"shop", "web-" + std::to_string(i % 10)};
        const auto presence = index_.Add(pod, Of("web"));
        presence->Touch(clock_.Now());
        EXPECT_TRUE(*index_.Contains(pod.View()));
        EXPECT_THAT(Select("shop", "app=web"), testing::Contains(pod.name));
        if (t == 0) index_.Expire(clock_.Now());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Select("shop").size(), 10u);
}

}  // namespace
}  // namespace activescale::kube
