#include "insight/snapshot.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "insight/testing/situation.h"

namespace activescale::insight {
namespace {

/// `text` with the first `from` replaced.
std::string With(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

Situation Plain() {
  return {.metrics = {PodsMetric("2500m")},
          .pods = {PodJson("web-0")},
          .answers = {PodAnswer({{"web-0", "3"}})},
          .behavior = {}};
}

/// A pod with a sidecar: 300m and 64Mi requested together.
std::string PodWithRequests(std::string_view name) {
  return fmt::format(
      R"({{"metadata":{{"namespace":"shop","name":"{}"}},"spec":{{"containers":[)"
      R"({{"name":"app","resources":{{"requests":{{"cpu":"200m","memory":"64Mi"}}}}}}],)"
      R"("initContainers":[{{"name":"migrate","resources":{{"requests":{{"cpu":"8"}}}}}},)"
      R"({{"name":"proxy","restartPolicy":"Always","resources":{{"requests":{{"cpu":"100m",)"
      R"("memory":"0"}}}}}}]}},"status":{{"phase":"Running"}}}})",
      name);
}

std::string ResourceMetric(std::string_view name, std::string_view container = "") {
  const bool whole = container.empty();
  return fmt::format(R"({{"type":"{}","{}":{{"name":"{}"{},"target":{{"type":"Utilization",)"
                     R"("averageUtilization":50}}}}}})",
                     whole ? "Resource" : "ContainerResource",
                     whole ? "resource" : "containerResource", name,
                     whole ? "" : fmt::format(R"(,"container":"{}")", container));
}

std::string Usage(std::string_view pod) {
  return fmt::format(
      R"({{"items":[{{"metadata":{{"name":"{}"}},"timestamp":"2026-11-30T05:59:50Z","window":"20s",)"
      R"("containers":[{{"name":"app","usage":{{"cpu":"150m","memory":"32Mi"}}}},)"
      R"({{"name":"proxy","usage":{{"cpu":"30m","memory":"8Mi"}}}}]}}]}})",
      pod);
}

TEST(SnapshotTest, ReadsUsageAndRequestsOfEachResource) {
  const Situation situation{
      .metrics = {ResourceMetric("cpu"), ResourceMetric("memory"), ResourceMetric("cpu", "app")},
      .pods = {PodWithRequests("web-0")},
      .answers = {Usage("web-0"), Usage("web-0"), Usage("web-0")},
      .behavior = {}};
  const auto snapshot = ReadSnapshot(situation.Text());
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  const auto& answers = snapshot->seen.answers;
  EXPECT_EQ(answers[0].by_pod.at("web-0").value_milli, 180);
  EXPECT_EQ(answers[0].by_pod.at("web-0").window, std::chrono::seconds(20));
  EXPECT_EQ(answers[0].requests_milli.at("web-0"), 300);
  EXPECT_EQ(answers[1].by_pod.at("web-0").value_milli, (int64_t{40} << 20) * 1000);
  EXPECT_EQ(answers[1].requests_milli.at("web-0"), (int64_t{64} << 20) * 1000);
  EXPECT_EQ(answers[2].by_pod.at("web-0").value_milli, 150);
  EXPECT_EQ(answers[2].requests_milli.at("web-0"), 200);
  EXPECT_EQ(kube::MetricTitle(snapshot->hpa.spec.metrics[2], snapshot->hpa.sources[2]),
            "Resource cpu of container app");
}

TEST(SnapshotTest, AnEmptyAnswerIsAnErrorAsToTheController) {
  Situation situation = Plain();
  situation.answers = {R"({"items":[]})"};
  const auto snapshot = ReadSnapshot(situation.Text());
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->seen.answers[0].error, "no metrics returned from custom metrics API");
}

TEST(SnapshotTest, RescalesComeFromEventsInOrder) {
  Situation situation = Plain();
  situation.events = {RescaleEvent("2026-11-30T05:59:00Z", 4),
                      RescaleEvent("2026-11-30T05:58:00Z", 2),
                      R"({"reason":"FailedGetScale","message":"New size: 9"})"};
  const auto snapshot = ReadSnapshot(situation.Text());
  ASSERT_TRUE(snapshot);
  ASSERT_EQ(snapshot->rescales.size(), 2U);
  EXPECT_EQ(snapshot->rescales[0].replicas, 2);
  EXPECT_EQ(snapshot->rescales[1].reason, "pods metric inbound_active_requests above target");
}

TEST(SnapshotTest, ABrokenFileIsRefusedWithWhatIsWrong) {
  const std::string good = Plain().Text();
  const std::pair<std::string, std::string_view> cases[] = {
      {"", "is not a JSON object"},
      {good.substr(0, good.size() / 2), "is not a JSON object"},
      {"[1]", "is not a JSON object"},
      {"{}", "is no snapshot"},
      {With(good, "takenAt", "taken"), "lacks hpa, scale or takenAt"},
      {With(good, R"("maxReplicas":20)", R"("maxReplicas":"many")"), "spec.maxReplicas is missing"},
      {With(good, R"("type":"Pods")", R"("type":"Moon")"), R"("Moon" is not known)"},
      {With(good, R"("2500m")", R"("-1")"), "averageValue is not a quantity above 0"},
      {With(good, R"("value":"3")", R"("value":"three")"), "metric inbound_active_requests"},
      {With(good, R"("answers":[)", R"("answers":[],"x":[)"), "has 0 answers to 1 metrics"}};
  for (const auto& [text, want] : cases) {
    const auto snapshot = ReadSnapshot(text);
    ASSERT_FALSE(snapshot) << text;
    EXPECT_EQ(snapshot.error().code, base::Code::kInvalidArgument);
    EXPECT_NE(snapshot.error().message.find(want), std::string::npos) << snapshot.error().message;
  }
}

}  // namespace
}  // namespace activescale::insight
