#include "insight/explain.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "insight/testing/situation.h"

namespace activescale::insight {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

Snapshot Read(const Situation& situation) {
  auto snapshot = ReadSnapshot(situation.Text());
  EXPECT_TRUE(snapshot) << (snapshot ? "" : snapshot.error().message);
  return snapshot ? *std::move(snapshot) : Snapshot();
}

Explanation Of(const Situation& situation, std::optional<int32_t> wanted = std::nullopt) {
  return Explain(Read(situation), wanted);
}

/// One Pods metric over pods web-0, web-1, ... with these values; "" is a pod without one.
Situation WithPods(std::string_view target, const std::vector<std::string>& values) {
  Situation out{.replicas = static_cast<int>(values.size()),
                .metrics = {PodsMetric(target)},
                .pods = {},
                .answers = {},
                .behavior = {}};
  Values answer;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string name = fmt::format("web-{}", i);
    out.pods.push_back(PodJson(name));
    if (!values[i].empty()) answer.emplace_back(name, values[i]);
  }
  out.answers.push_back(PodAnswer(answer));
  return out;
}

Situation WithTotal(std::string_view type, std::string_view target, std::string_view total,
                    int replicas) {
  Situation out = WithPods("1", std::vector<std::string>(static_cast<size_t>(replicas)));
  out.metrics = {ExternalMetric(type, target)};
  out.answers = {Total(total)};
  return out;
}

/// The one note that holds `part`; fails if there is none.
std::string NoteWith(const Explanation& explained, std::string_view part) {
  for (const std::string& note : explained.notes) {
    if (note.find(part) != std::string::npos) return note;
  }
  ADD_FAILURE() << "no note has \"" << part << "\" among: " << fmt::format("{}", explained.notes);
  return {};
}

constexpr std::string_view kAtOnce =
    R"({"scaleUp":{"stabilizationWindowSeconds":0,"policies":[{"type":"Pods","value":1000,)"
    R"("periodSeconds":15}]},"scaleDown":{"stabilizationWindowSeconds":0,"policies":)"
    R"([{"type":"Pods","value":1000,"periodSeconds":15}]}})";

TEST(ExplainTest, TwentyInFlightAtFourEach) {
  struct Case {
    std::string type;
    int replicas;
    int32_t want;
    std::string how;
  };
  const Case cases[] = {
      {"AverageValue", 1, 5, "20 / target 4 = 5, rounded up 5"},
      {"AverageValue", 3, 5, "20 / target 4 = 5, rounded up 5"},
      {"Value", 1, 5, "20 / target 4 = ratio 5; x 1 ready pods = 5, rounded up 5"},
      {"Value", 3, 15, "20 / target 4 = ratio 5; x 3 ready pods = 15, rounded up 15"}};
  for (const Case& c : cases) {
    const Explanation explained = Of(WithTotal(c.type, "4", "20", c.replicas));
    SCOPED_TRACE(c.type + " at " + std::to_string(c.replicas));
    EXPECT_EQ(explained.decision.proposed, c.want);
    EXPECT_EQ(explained.metrics[0].how, c.how);
  }
  const Explanation multiplied = Of(WithTotal("Value", "4", "20", 3));
  EXPECT_NE(
      NoteWith(multiplied, "type Value").find("AverageValue, the same target would propose 5"),
      std::string::npos);
}

TEST(ExplainTest, SaysHowEachPodCounts) {
  struct Case {
    std::string name;
    std::vector<std::string> values;
    Counted missing;
    int32_t proposes;
    std::string how;
  };
  const Case cases[] = {
      {"on the way out a missing pod is idle",
       {"20", "20", ""},
       Counted::kAsIdle,
       8,
       "mean 20 of 2 pods / target 5 = ratio 4; with the pods that lack a value 2.667 over 3; x 3 "
       "pods = 8, rounded up 8"},
      {"on the way in it is at the target",
       {"1", "1", ""},
       Counted::kAsTarget,
       2,
       "mean 1 of 2 pods / target 5 = ratio 0.2; with the pods that lack a value 0.4666 over 3; x "
       "3 "
       "pods = 1.4, rounded up 2"},
      {"it may turn the direction, which changes nothing",
       {"6", ""},
       Counted::kAsIdle,
       2,
       "mean 6 of 1 pods / target 5 = ratio 1.2; with the pods that lack a value 0.6 over 2; that "
       "would turn against the others' direction: no change"},
      {"inside of the tolerance",
       {"5200m", "5200m"},
       Counted::kAsValue,
       2,
       "mean 5.2 of 2 pods / target 5 = ratio 1.04; within 0.9 to 1.1: no change"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Explanation explained = Of(WithPods("5", c.values));
    EXPECT_EQ(explained.metrics[0].pods.back().counted, c.missing);
    EXPECT_EQ(explained.metrics[0].proposal.replicas, c.proposes);
    EXPECT_EQ(explained.metrics[0].how, c.how);
  }
}

TEST(ExplainTest, PendingDeletedAndFailedPodsAreSaidToBe) {
  Situation situation = WithPods("5", {"10", "10", "10", "10"});
  situation.pods[1] = PodJson("web-1", "Pending");
  situation.pods[2] = PodJson("web-2", "Failed");
  situation.pods[3] =
      PodJson("web-3", "Running", "", R"(,"deletionTimestamp":"2026-11-30T05:59:00Z")");
  const auto pods = Of(situation).metrics[0].pods;
  EXPECT_EQ(pods[0].counted, Counted::kAsValue);
  EXPECT_EQ(pods[1].counted, Counted::kAsIdle);
  EXPECT_EQ(pods[1].why, "is Pending");
  EXPECT_EQ(pods[2].counted, Counted::kNotCounted);
  EXPECT_EQ(pods[2].why, "is Failed");
  EXPECT_EQ(pods[3].why, "is being deleted");
}

TEST(ExplainTest, OneInvalidMetricBlocksScalingIn) {
  Situation situation = WithPods("5", {"1", "1", "1", "1"});
  situation.behavior = kAtOnce;
  situation.metrics.push_back(ExternalMetric("AverageValue", "4"));
  situation.answers.push_back(ErrorAnswer(404, "no telemetry"));
  const Explanation blocked = Of(situation);
  EXPECT_TRUE(blocked.decision.failed);
  EXPECT_EQ(blocked.next.replicas, 4);
  EXPECT_TRUE(blocked.next.certain);
  const std::string note = NoteWith(blocked, "External inflight cannot be used");
  EXPECT_NE(note.find("scales out but never in"), std::string::npos);
  EXPECT_NE(note.find("the others ask for 1, fewer than the 4"), std::string::npos);
  EXPECT_NE(note.find("status.currentMetrics"), std::string::npos);

  situation.answers[0] =
      PodAnswer({{"web-0", "20"}, {"web-1", "20"}, {"web-2", "0"}, {"web-3", "0"}});
  const Explanation grows = Of(situation);
  EXPECT_EQ(grows.next.replicas, 8);
  NoteWith(grows, "will not scale in until every metric is back");

  situation.answers[0] = ErrorAnswer(503, "store is away");
  EXPECT_EQ(Of(situation).next.replicas, 4);
  NoteWith(Of(situation), "No metric can be used");
}

TEST(ExplainTest, WhatOnlyWeMayNotReadIsNotTheControllersFault) {
  Situation situation = WithPods("5", {"5"});
  situation.answers = {ErrorAnswer(403, "forbidden")};
  NoteWith(Of(situation), "was refused to you, not to the controller");
}

TEST(ExplainTest, ASelectorThatSpansOwnersIsNamed) {
  Situation situation = WithPods("5", {"5", "5"});
  situation.pods.push_back(PodJson(
      "job-1", "Succeeded", "",
      R"(,"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"job","controller":true}])"));
  const Explanation explained = Of(situation);
  EXPECT_NE(NoteWith(explained, "spans owners").find("2 of Deployment/web, 1 of Job/job"),
            std::string::npos);
  EXPECT_NE(NoteWith(explained, "Finished (Succeeded)").find("job-1"), std::string::npos);
}

TEST(ExplainTest, TwoReplicaSetsOfOneDeploymentAreOneOwner) {
  Situation situation = WithPods("5", {"5", "5"});
  situation.pods[1] =
      PodJson("web-1", "Running", "",
              R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1",)"
              R"("controller":true}])");
  for (const std::string& note : Of(situation).notes) {
    EXPECT_EQ(note.find("spans owners"), std::string::npos) << note;
  }
}

TEST(ExplainTest, ARollingUpdateWithAHeartbeatStaysAndWithoutOneIsExplained) {
  // One replica at rest, a new pod of the surge.
  Situation situation = WithPods("5", {"0", "0"});
  situation.replicas = 1;
  situation.behavior = kAtOnce;
  EXPECT_EQ(Of(situation).next.replicas, 1);
  NoteWith(Of(situation), "2 pods for 1 replicas");

  // At 4.75 of 5 a surge of one silent pod to four adds a replica: the classic.
  Situation busy = WithPods("5", {"4", "4", "4", "4", ""});
  busy.replicas = 4;
  busy.behavior = kAtOnce;
  const Explanation explained = Of(busy);
  EXPECT_EQ(explained.metrics[0].pods.back().counted, Counted::kAsTarget);
  NoteWith(explained, "one that never pushed is missing");
}

TEST(ExplainTest, CrashLoopsAreNamedWithTheBoundOnThem) {
  Situation situation = WithPods("5", {"20", ""});
  situation.pods[1] = PodJson(
      "web-1", "Running",
      R"(,"containerStatuses":[{"restartCount":7,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}])");
  const std::string note = NoteWith(Of(situation), "crash loop: web-1");
  EXPECT_NE(note.find("maxReplicas (20)"), std::string::npos);
}

TEST(ExplainTest, PastRecommendationsAreOfTheControllerAlone) {
  struct Case {
    std::string name;
    std::string behavior;
    std::vector<std::string> conditions;
    std::vector<std::string> events;
    int32_t want;
    bool certain;
    std::string why;
  };
  const std::string window_of_60 = R"({"scaleDown":{"stabilizationWindowSeconds":60}})";
  const Case cases[] = {
      {"the default window holds",
       "",
       {},
       {},
       4,
       false,
       "last 300 s, which is in its memory alone"},
      {"its condition tells",
       "",
       {ConditionJson("AbleToScale", "True", "ScaleDownStabilized")},
       {},
       4,
       false,
       "it says ScaleDownStabilized since 2026-11-30T05:58:00Z"},
      {"no window", std::string(kAtOnce), {}, {}, 1, true, "that is what the metrics ask for"},
      {"an event within the window is certain",
       "",
       {},
       {RescaleEvent("2026-11-30T05:40:00Z", 2), RescaleEvent("2026-11-30T05:59:00Z", 4)},
       4,
       true,
       "a change that events tell of is younger than the stabilization window"},
      {"it was seen moving, so it goes on",
       window_of_60,
       {ConditionJson("ScalingLimited", "True", "ScaleDownLimit")},
       {},
       1,
       true,
       "that is what the metrics ask for"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Situation situation = WithPods("5", {"1", "1", "1", "1"});
    situation.behavior = c.behavior;
    situation.conditions = c.conditions;
    situation.events = c.events;
    const NextSync next = Of(situation).next;
    EXPECT_EQ(next.replicas, c.want);
    EXPECT_EQ(next.certain, c.certain);
    EXPECT_NE(next.why.find(c.why), std::string::npos) << next.why;
  }
}

TEST(ExplainTest, ChangesThatEventsTellOfUseUpAPolicy) {
  Situation situation = WithPods("5", {"50", "50", "50", "50"});
  situation.behavior = R"({"scaleUp":{"policies":[{"type":"Pods","value":3,"periodSeconds":60}]}})";
  EXPECT_EQ(Of(situation).next.replicas, 7);
  situation.events = {RescaleEvent("2026-11-30T05:50:00Z", 2),
                      RescaleEvent("2026-11-30T05:59:30Z", 4)};
  const Explanation explained = Of(situation);
  EXPECT_EQ(explained.next.replicas, 5);
  EXPECT_EQ(explained.decision.normalized->limit, hpa::Limit::kScaleUpLimit);
}

TEST(ExplainTest, AnUnusableSelectorIsExplained) {
  Situation none = WithPods("5", {"50"});
  none.selector = "";
  EXPECT_EQ(Of(none).next.replicas, 1);
  NoteWith(Of(none), "has no selector");
  Situation shared = WithPods("5", {"50"});
  shared.conditions = {ConditionJson("ScalingActive", "False", "AmbiguousSelector")};
  EXPECT_EQ(Of(shared).next.replicas, 1);
  NoteWith(Of(shared), "more than one HPA scales these pods");
}

TEST(ExplainTest, AControllerThatFailedWhereWeDoNotIsPointedOut) {
  Situation situation = WithPods("5", {"5"});
  situation.conditions = {ConditionJson("ScalingActive", "False", "FailedGetPodsMetric")};
  NoteWith(Of(situation), "At its last sync the controller could not compute replicas");
}

TEST(ExplainTest, SaysWhatItTakesToReachACount) {
  struct Case {
    Situation situation;
    int32_t wanted;
    std::optional<Range> value;
    std::optional<Range> target;
  };
  const Case cases[] = {
      // A mean of 2 pods at target 5: 3 replicas take more than 5 and up to 7.5, and the tolerance
      // of 10 % is in the way below 5.5.
      {WithPods("5", {"5", "5"}), 3, Range{5501, 7500}, Range{3334, 4545}},
      {WithTotal("AverageValue", "4", "20", 1), 7, Range{24'001, 28'000}, Range{2858, 3333}},
      {WithTotal("AverageValue", "4", "20", 10), 5, Range{16'001, 20'000}, Range{4000, 4999}},
      // Nothing between 10 and 12 of 11: within the tolerance.
      {WithTotal("AverageValue", "4", "44", 11), 12, Range{48'401, 48'000}, std::nullopt}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.situation.Text());
    const Explanation explained = Of(c.situation, c.wanted);
    ASSERT_TRUE(explained.reach);
    const MetricReach& reach = explained.reach->metrics[0];
    const bool possible = c.value->least <= c.value->most;
    ASSERT_EQ(reach.value.has_value(), possible);
    if (!possible) continue;
    EXPECT_EQ(reach.value->least, c.value->least);
    EXPECT_EQ(reach.value->most, c.value->most);
    ASSERT_EQ(reach.target.has_value(), c.target.has_value());
    if (!c.target) continue;
    EXPECT_EQ(reach.target->least, c.target->least);
    EXPECT_EQ(reach.target->most, c.target->most);
  }
}

TEST(ExplainTest, TheTextTellsTheWholeWay) {
  Situation situation = WithPods("5", {"20", "20", ""});
  situation.conditions = {ConditionJson("AbleToScale", "True", "ReadyForNewScale")};
  const Snapshot snapshot = Read(situation);
  const std::string text = ExplanationText(snapshot, Explain(snapshot, 12));
  for (const std::string_view line : {
           "hpa/shop/web, Deployment/web, 1 to 20 replicas, as seen 2026-11-30T06:00:00Z\n",
           "The next sync makes it 6: that is as far as its limits let it go.\n",
           "Metric 1: Pods inbound_active_requests, target 5 (AverageValue)\n",
           "  web-0          20  its value\n",
           "  web-2           -  idle (0): has no value\n",
           "  proposes 8\n",
           "  the metrics ask for 8\n",
           "  limits make it 6 (ScaleUpLimit)\n",
           "  AbleToScale True since 2026-11-30T05:58:00Z: ReadyForNewScale",
           "To reach 12 replicas\n",
           "  its limits let the next sync go to 6 at most\n",
       }) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "is not in\n" << text;
  }
}

TEST(ExplainTest, TheJsonHasTheSameNumbers) {
  const Snapshot snapshot = Read(WithPods("5", {"20", "20", ""}));
  const std::string text = ExplanationJson(snapshot, Explain(snapshot, 4));
  for (const std::string_view part :
       {R"("desiredReplicas":6)", R"("certain":true)", R"("proposed":8)",
        R"("limit":"ScaleUpLimit")", R"j("countedAs":"idle (0)")j", R"("reach":{"replicas":4)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
  }
}

}  // namespace
}  // namespace activescale::insight
