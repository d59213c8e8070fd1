#include "metricsapi/custom_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include <boost/json.hpp>

#include "metricsapi/testing/api_fixture.h"

namespace activescale::metricsapi {
namespace {

using metric::MetricKind;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

constexpr auto kInbound = MetricKind::kInboundActiveRequests;
const std::string kBase = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/";

class CustomMetricsTest : public testing::Test {
 protected:
  boost::json::value Get(const std::string& path, int status = 200) {
    const auto answer = fixture_.Ask("GET", kBase + path);
    EXPECT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, status) << path << " " << answer->body;
    return boost::json::parse(answer->body);
  }
  /// Names and values of the items of a list.
  std::vector<std::pair<std::string, std::string>> Values(const std::string& path) {
    std::vector<std::pair<std::string, std::string>> values;
    const auto list = Get(path);
    for (const auto& item : list.at("items").as_array()) {
      values.emplace_back(item.at("describedObject").at("name").as_string(),
                          item.at("value").as_string());
    }
    return values;
  }
  std::string Message(const std::string& path, int status) {
    return std::string(Get(path, status).at("message").as_string());
  }
  /// A workload `deployments.apps/web` of these pods; only those with a value have telemetry.
  void AddWorkload(const std::vector<std::pair<std::optional<double>, bool>>& pods) {
    std::vector<kube::WorkloadPod> members;
    for (const auto& [value, starting] : pods) {
      const metric::PodKey pod{"shop", "web-" + std::to_string(members.size())};
      members.push_back({pod, starting});
      if (value) fixture_.store.SetValue(pod, kInbound, *value, fixture_.clock.Now());
    }
    fixture_.index.SetWorkload("shop", {"deployments.apps", "web"}, members);
  }

  ApiFixture fixture_;
};

TEST_F(CustomMetricsTest, ServesEachPodThatTheSelectorMatches) {
  fixture_.AddWebPods(2, 3);
  fixture_.index.AddPod({"shop", "db-0"}, {{"app", "db"}});
  fixture_.store.SetValue({"shop", "db-0"}, kInbound, 9, fixture_.clock.Now());
  fixture_.index.AddPod({"other", "web-9"}, {{"app", "web"}});
  EXPECT_THAT(Values("pods/*/inbound_active_requests?labelSelector=app%3Dweb"),
              ElementsAre(Pair("web-0", "3"), Pair("web-1", "3")));
  EXPECT_THAT(Values("pods/%2A/inbound_active_requests?labelSelector=app+in+%28db%2Cx%29"),
              ElementsAre(Pair("db-0", "9")));
  EXPECT_THAT(Values("pods/*/inbound_active_requests"),
              ElementsAre(Pair("db-0", "9"), Pair("web-0", "3"), Pair("web-1", "3")));
  EXPECT_THAT(Values("pods/web-1/inbound_active_requests"), ElementsAre(Pair("web-1", "3")));
}

TEST_F(CustomMetricsTest, TheTimestampIsWhenTheValueWasReceived) {
  fixture_.AddWebPods(1, 1);
  fixture_.clock.Advance(seconds(7));
  const auto list = Get("pods/*/inbound_active_requests");
  EXPECT_EQ(list.at("items").at(0).at("timestamp").as_string(), "1970-01-12T13:46:40Z");
}

TEST_F(CustomMetricsTest, AnIdlePodIsZeroIsCountedAndASilentOneIsLeftOut) {
  fixture_.AddWebPods(1, 4);
  fixture_.index.AddPod({"shop", "idle"});
  fixture_.store.SetIdle({"shop", "idle"}, kInbound, fixture_.clock.Now());
  fixture_.index.AddPod({"shop", "silent"});
  EXPECT_THAT(Values("pods/*/inbound_active_requests"),
              ElementsAre(Pair("idle", "0"), Pair("web-0", "4")));
  EXPECT_THAT(fixture_.registry.Render(), HasSubstr("activescale_synthesized_zeros_total 1\n"));
  EXPECT_THAT(fixture_.registry.Render(),
              HasSubstr("activescale_metric_freshness_seconds_count{group=\"custom.metrics.k8s.io\""
                        "} 2\n"));
}

// kube-metrics-adapter #97: values of deleted pods were served for a quarter of an hour.
TEST_F(CustomMetricsTest, CaseB1DeletedPodsAreNotServedThoughTheStoreStillHasThem) {
  fixture_.AddWebPods(10, 50);
  const std::string path = "pods/*/inbound_active_requests?labelSelector=app%3Dweb";
  EXPECT_EQ(Values(path).size(), 10);
  for (int i = 2; i < 10; ++i) fixture_.index.RemovePod({"shop", "web-" + std::to_string(i)});
  fixture_.clock.Advance(seconds(1));
  EXPECT_THAT(Values(path), ElementsAre(Pair("web-0", "50"), Pair("web-1", "50")));
  fixture_.clock.Advance(seconds(19));
  EXPECT_THAT(Values(path), ElementsAre(Pair("web-0", "50"), Pair("web-1", "50")));
}

// prometheus-adapter #147, #450, #393: empty, missing and unknown were mixed up.
TEST_F(CustomMetricsTest, CaseC8EmptyMissingAndUnknownAreThreeAnswers) {
  EXPECT_TRUE(Values("pods/*/inbound_active_requests?labelSelector=app%3Dnone").empty());

  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
    fixture_.index.AddPod({"shop", name});
  }
  EXPECT_THAT(Message("pods/*/inbound_active_requests", 404),
              AllOf(HasSubstr("no fresh telemetry"), HasSubstr("7 pods"),
                    HasSubstr("a, b, c, d, e and 2 more"), HasSubstr("not zero")));
  EXPECT_THAT(Message("pods/a/inbound_active_requests", 404), HasSubstr("1 pod in"));
  EXPECT_THAT(Message("pods/nobody/inbound_active_requests", 404),
              HasSubstr("pods \"nobody\" not found"));
  EXPECT_THAT(Message("pods/*/unknown_metric", 404),
              AllOf(HasSubstr("\"unknown_metric\""), HasSubstr("inbound_active_requests"),
                    HasSubstr("outbound_active_requests"), HasSubstr("active_connections")));
}

TEST_F(CustomMetricsTest, AWindowGivesTheStatisticOfEachPodOrOfTheSum) {
  for (const auto& [a, b] : {std::pair(8, 0), std::pair(0, 6), std::pair(2, 2)}) {
    fixture_.clock.Advance(seconds(1));
    fixture_.signals.Set("inbound_active_requests", {{"namespace", "shop"}, {"pod", "web-0"}}, a);
    fixture_.signals.Set("inbound_active_requests", {{"namespace", "shop"}, {"pod", "web-1"}}, b);
  }
  fixture_.AddWebPods(3, 2);
  AddWorkload({{2, false}, {2, false}});
  const std::string selector = "inbound_active_requests?metricLabelSelector=window%3D2m%2Cstat%3D";
  EXPECT_THAT(Values("pods/*/" + selector + "max"),
              ElementsAre(Pair("web-0", "8"), Pair("web-1", "6")));
  EXPECT_THAT(Values("pods/*/" + selector + "p50"),
              ElementsAre(Pair("web-0", "2"), Pair("web-1", "2")));
  EXPECT_THAT(Values("deployments.apps/web/" + selector + "max"), ElementsAre(Pair("web", "8")));
  EXPECT_THAT(Values("deployments.apps/web/" + selector + "min"), ElementsAre(Pair("web", "4")));
  EXPECT_EQ(Get("pods/*/" + selector + "max").at("items").at(0).at("windowSeconds"), 120);

  fixture_.store.SetMissing({"shop", "web-0"}, kInbound);
  EXPECT_THAT(Values("pods/*/" + selector + "max"), ElementsAre(Pair("web-1", "6")));
  EXPECT_THAT(Message("deployments.apps/web/" + selector + "max", 404), HasSubstr("1 of 2 pods"));
}

TEST_F(CustomMetricsTest, AWindowThatCannotBeServedNamesItsCause) {
  fixture_.AddWebPods(1, 2);
  const std::string path = "pods/*/inbound_active_requests?metricLabelSelector=";
  for (const char* selector : {"window%3D2m", "stat%3Dmax", "window%3D2m%2Cstat%3Dmedian",
                               "window%3D2h%2Cstat%3Dmax", "window+in+%281m%2C2m%29%2Cstat%3Dmax",
                               "window%2Cstat%3Dmax", "window%21%3D2m%2Cstat%3Dmax"}) {
    EXPECT_THAT(Message(path + selector, 400), HasSubstr("metricLabelSelector: ")) << selector;
  }
  EXPECT_THAT(Message(path + "window%3D2m%2Cstat%3Dmax%2Cx%3Dy", 404), HasSubstr("no labels"));
  EXPECT_THAT(Message(path + "window%3D2m%2Cstat%3Dmax", 404), HasSubstr("no fresh telemetry"));
  fixture_.signals.SetObservedSince(999'999'000);
  EXPECT_THAT(Message(path + "window%3D2m%2Cstat%3Dmax", 404), HasSubstr("observed for 1s only"));
}

TEST_F(CustomMetricsTest, AFailingStoreOrIndexIs503NeverAnEmptyList) {
  fixture_.AddWebPods(2, 1);
  AddWorkload({{1, false}});
  const char* const paths[] = {"pods/*/inbound_active_requests",
                               "pods/web-0/inbound_active_requests",
                               "deployments.apps/web/inbound_active_requests"};
  fixture_.store.Fail(base::Error{base::Code::kUnavailable, "the store is away"});
  for (const char* path : paths) EXPECT_EQ(Message(path, 503), "the store is away");
  fixture_.store.Fail(std::nullopt);
  fixture_.index.Fail(base::Error{base::Code::kUnavailable, "pods are not listed yet"});
  for (const char* path : paths) EXPECT_EQ(Message(path, 503), "pods are not listed yet");
  fixture_.index.Fail(std::nullopt);
  for (const char* path : paths) EXPECT_GT(Values(path).size(), 0) << path;
}

TEST_F(CustomMetricsTest, APartialReadServesThePodsItHasAndNoSum) {
  fixture_.AddWebPods(2, 1);
  AddWorkload({{1, false}, {1, false}});
  fixture_.store.SetPartial(true);
  fixture_.index.AddPod({"shop", "elsewhere"});
  EXPECT_EQ(Values("pods/*/inbound_active_requests").size(), 2);
  EXPECT_THAT(Message("pods/elsewhere/inbound_active_requests", 503), HasSubstr("store"));
  EXPECT_THAT(Message("deployments.apps/web/inbound_active_requests", 503), HasSubstr("sum"));
}

TEST_F(CustomMetricsTest, MetricsCarryNoLabelsSoASelectorOnThemNeverGivesTheTotal) {
  fixture_.AddWebPods(1, 1);
  const std::string path = "pods/*/inbound_active_requests?metricLabelSelector=";
  EXPECT_THAT(Message(path + "listener%3Dx", 404), HasSubstr("listener=x"));
  EXPECT_THAT(Message(path + "listener", 404), HasSubstr("carries no labels"));
  EXPECT_THAT(Message(path + "listener+in+%28a%2Cb%29", 404), HasSubstr("no labels"));
  EXPECT_EQ(Values(path + "%21listener").size(), 1);
  EXPECT_EQ(Values(path + "listener%21%3Dx").size(), 1);
  EXPECT_EQ(Values(path).size(), 1);
  EXPECT_EQ(fixture_.store.reads(), 3);
}

TEST_F(CustomMetricsTest, AWorkloadsMetricIsTheSumOverItsPods) {
  AddWorkload({{1.5, false}, {2, false}, {0, false}});
  const auto list = Get("deployments.apps/web/inbound_active_requests");
  ASSERT_EQ(list.at("items").as_array().size(), 1);
  const auto& item = list.at("items").at(0);
  EXPECT_EQ(item.at("value").as_string(), "3500m");
  EXPECT_EQ(item.at("describedObject").at("kind").as_string(), "Deployment");
  EXPECT_EQ(item.at("describedObject").at("apiVersion").as_string(), "apps/v1");
  EXPECT_EQ(item.at("describedObject").at("name").as_string(), "web");
}

TEST_F(CustomMetricsTest, AKindWithoutANameOfItsOwnIsServedByItsResource) {
  fixture_.AddWebPods(1, 5);
  fixture_.index.SetWorkload("shop", {"rollouts.argoproj.io", "web"}, {{{"shop", "web-0"}, false}});
  const auto list = Get("rollouts.argoproj.io/web/inbound_active_requests");
  EXPECT_EQ(list.at("items").at(0).at("value").as_string(), "5");
  EXPECT_EQ(list.at("items").at(0).at("describedObject").at("kind").as_string(), "rollouts");
}

TEST_F(CustomMetricsTest, ASumWithASilentPodIsUnknownUnlessThatPodIsJustStarting) {
  const struct {
    const char* name;
    std::vector<std::pair<std::optional<double>, bool>> pods;  // value, starting
    int status;
    const char* text;  // the value, or a part of the message
  } cases[] = {
      {"all known", {{2, false}, {3, true}}, 200, "5"},
      {"one silent", {{2, false}, {std::nullopt, false}}, 404, "1 of 2 pods"},
      {"one starting", {{2, false}, {std::nullopt, true}}, 200, "2"},
      {"silent and starting",
       {{2, false}, {std::nullopt, true}, {std::nullopt, false}},
       404,
       "(web-2)"},
      {"nothing known, all starting", {{std::nullopt, true}}, 404, "no fresh telemetry"},
      {"nothing known", {{std::nullopt, false}}, 404, "no fresh telemetry"},
      {"no pods", {}, 404, "has no pods"},
  };
  for (const auto& c : cases) {
    ApiFixture fixture;
    std::vector<kube::WorkloadPod> members;
    for (const auto& [value, starting] : c.pods) {
      const metric::PodKey pod{"shop", "web-" + std::to_string(members.size())};
      members.push_back({pod, starting});
      if (value) fixture.store.SetValue(pod, kInbound, *value, fixture.clock.Now());
    }
    fixture.index.SetWorkload("shop", {"deployments.apps", "web"}, members);
    const auto answer = fixture.Ask("GET", kBase + "deployments.apps/web/inbound_active_requests");
    EXPECT_EQ(answer->status, c.status) << c.name;
    EXPECT_THAT(answer->body,
                HasSubstr(c.status == 200 ? "\"value\":\"" + std::string(c.text) + "\"" : c.text))
        << c.name;
  }
  EXPECT_THAT(Message("deployments.apps/nobody/inbound_active_requests", 404),
              HasSubstr("\"nobody\" not found"));
}

TEST_F(CustomMetricsTest, ASumThatIsTooLargeIsTheLargestAndIsCounted) {
  fixture_.index.AddPod({"shop", "a"});
  std::vector<kube::WorkloadPod> pods;
  for (int i = 0; i < 9300; ++i) {
    const metric::PodKey pod{"shop", "p" + std::to_string(i)};
    pods.push_back({pod, false});
    fixture_.store.SetValue(pod, kInbound, 1e12, fixture_.clock.Now());
  }
  fixture_.index.SetWorkload("shop", {"jobs.batch", "big"}, pods);
  EXPECT_THAT(Values("jobs.batch/big/inbound_active_requests"),
              ElementsAre(Pair("big", "9223372036854775807m")));
  EXPECT_THAT(fixture_.registry.Render(), HasSubstr("activescale_saturated_sums_total 1\n"));
}

TEST_F(CustomMetricsTest, AWorkloadThatIsNotListedYetIsWaitedFor) {
  std::move_only_function<void()> later;
  fixture_.index.HoldQuestions(
      [&later](std::move_only_function<void()> question) { later = std::move(question); });
  net::HttpRequest request;
  request.method = "GET";
  request.target = kBase + "deployments.apps/web/inbound_active_requests";
  std::optional<net::HttpResponse> answer;
  fixture_.api.Handle(std::move(request),
                      [&answer](net::HttpResponse response) { answer = std::move(response); });
  EXPECT_FALSE(answer);
  AddWorkload({{7, false}});
  std::thread(std::move(later)).join();
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->body, HasSubstr("\"value\":\"7\""));
}

TEST_F(CustomMetricsTest, AStoreThatAnswersLaterOnAnotherThreadIsWaitedFor) {
  fixture_.AddWebPods(1, 7);
  std::move_only_function<void()> later;
  fixture_.store.HoldAnswers(
      [&later](std::move_only_function<void()> answer) { later = std::move(answer); });
  net::HttpRequest request;
  request.method = "GET";
  request.target = kBase + "pods/*/inbound_active_requests";
  std::optional<net::HttpResponse> answer;
  fixture_.api.Handle(std::move(request),
                      [&answer](net::HttpResponse response) { answer = std::move(response); });
  EXPECT_FALSE(answer);
  std::thread(std::move(later)).join();
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->body, HasSubstr("\"value\":\"7\""));
}

}  // namespace
}  // namespace activescale::metricsapi
