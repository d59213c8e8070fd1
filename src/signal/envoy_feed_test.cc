#include "signal/envoy_feed.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/testing/fake_clock.h"
#include "base/unix_time.h"
#include "kube/testing/fake_pod_index.h"
#include "signal/testing/sample_text.h"
#include "store/embedded_store.h"
#include "store/testing/fake_store.h"

namespace activescale::signal {
namespace {

using namespace std::chrono_literals;
using metric::MetricKind;
using series::Matcher;
using series::Matchers;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Matchers Named(const std::string& name,
               std::vector<std::pair<std::string, std::string>> more = {}) {
  Matchers matchers = {*Matcher::Make(Matcher::Op::kEqual, "__name__", name)};
  for (const auto& [label, value] : more) {
    matchers.push_back(*Matcher::Make(Matcher::Op::kEqual, label, value));
  }
  return matchers;
}
constexpr auto kRequests = MetricKind::kInboundActiveRequests;

/// A flush in which one metric has a value and the others are absent.
store::Flush FlushOf(MetricKind kind, int64_t value) {
  store::Flush flush;
  flush.values[static_cast<size_t>(kind)] = metric::Quantity::FromMilli(value * 1000);
  return flush;
}

const Matchers kInbound = Named("inbound_active_requests");

/// Series over the embedded store with a TTL of 20 s, and pods that the test names.
class EnvoyFeedTest : public testing::Test {
 protected:
  EnvoyFeedTest() {
    pods_.AddPod(web_);
    pods_.SetWorkloadOf(web_, "web");
  }

  [[nodiscard]] int64_t Now() const { return base::UnixMsNow(clock_); }
  void Push(store::PodStream& stream, int64_t value, MetricKind kind = kRequests) {
    stream.Write(FlushOf(kind, value), clock_.Now());
  }
  std::vector<std::shared_ptr<const series::Series>> Ask(const Matchers& matchers = kInbound) {
    return series_.Select(matchers, Now() - 60'000, Now())->series;
  }
  /// Values with their times in seconds from the test's start; a stale marker is "end".
  std::string Samples(const Matchers& matchers = kInbound) {
    std::string text;
    for (const auto& series : Ask(matchers)) {
      if (!text.empty()) text += "| ";
      text += SampleText(*series, start_ms_);
    }
    return text;
  }
  std::string Checked(const Matchers& matchers = kInbound) {
    const auto checked = feed_.Check(matchers);
    if (checked) return "ok";
    EXPECT_EQ(checked.error().code, base::Code::kUnavailable);
    return checked.error().message;
  }

  const metric::PodKey web_{"shop", "web-0"};
  base::FakeClock clock_;
  const int64_t start_ms_ = Now();
  telemetry::Registry registry_;
  store::EmbeddedStore store_{{.ttl = 20s}, clock_, registry_};
  kube::FakePodIndex pods_;
  series::SeriesStore series_{{}, clock_};
  EnvoyFeed feed_{{.cluster = "blue"}, store_, pods_, series_, clock_, registry_};
};

TEST_F(EnvoyFeedTest, APushIsASampleAtOnceWithItsReceiveTimeAndLabels) {
  (void)Ask();
  int heard = 0;
  feed_.SetListener([&heard] { ++heard; });
  const auto stream = feed_.Open(web_);
  clock_.Advance(1s);
  const base::SteadyTime received = clock_.Now();
  clock_.Advance(50ms);  // a flush that was held back
  stream->Write(FlushOf(kRequests, 3), received);
  EXPECT_EQ(Samples(), "3@1 ");
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(Ask().at(0)->labels(), metric::Labels({{"__name__", "inbound_active_requests"},
                                                   {"namespace", "shop"},
                                                   {"pod", "web-0"},
                                                   {"workload", "web"},
                                                   {"cluster", "blue"}}));
}

TEST_F(EnvoyFeedTest, WhatNobodyAsksForIsNotRecordedAndCallsNobody) {
  int heard = 0;
  feed_.SetListener([&heard] { ++heard; });
  const auto stream = feed_.Open(web_);
  Push(*stream, 3);
  feed_.Poll();
  (void)Ask(Named("inbound_active_requests", {{"workload", "other"}}));
  Push(*stream, 4);
  feed_.Poll();
  EXPECT_EQ(heard, 0);
  EXPECT_EQ(series_.stats().series, 0U);
}

TEST_F(EnvoyFeedTest, APollFillsWhatWasPushedBeforeSomebodyAskedAndNothingTwice) {
  const auto stream = feed_.Open(web_);
  Push(*stream, 3);
  clock_.Advance(2s);
  (void)Ask();
  feed_.Poll();
  feed_.Poll();
  EXPECT_EQ(Samples(), "3@0 ");
  Push(*stream, 5);
  feed_.Poll();
  EXPECT_EQ(Samples(), "3@0 5@2 ");
}

TEST_F(EnvoyFeedTest, AHeartbeatWithoutASampleIsZeroAndNoHeartbeatIsNothing) {
  const metric::PodKey silent{"shop", "web-1"};
  pods_.AddPod(silent);
  (void)Ask();
  const auto stream = feed_.Open(web_);
  clock_.Advance(1s);
  stream->Heartbeat(clock_.Now());
  clock_.Advance(400ms);
  feed_.Poll();
  EXPECT_EQ(Samples(), "0@1 ") << "of the heartbeat's time, and of the pod that was heard alone";
}

TEST_F(EnvoyFeedTest, AnAbsentFamilyBecomesZeroWhenItsValueIsTooOld) {
  (void)Ask();
  const auto stream = feed_.Open(web_);
  Push(*stream, 7);
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(8s);
    stream->Heartbeat(clock_.Now());
    feed_.Poll();
  }
  EXPECT_EQ(Samples(), "7@0 0@24 ");
}

TEST_F(EnvoyFeedTest, ASilentPodEndsAndComesBack) {
  (void)Ask();
  const auto stream = feed_.Open(web_);
  Push(*stream, 7);
  feed_.Poll();
  clock_.Advance(21s);
  feed_.Poll();
  clock_.Advance(1s);
  feed_.Poll();
  EXPECT_EQ(Samples(), "7@0 end@21 ") << "missing is not 0, and is said once";
  clock_.Advance(1s);
  Push(*stream, 2);
  EXPECT_EQ(Samples(), "7@0 end@21 2@23 ");
}

TEST_F(EnvoyFeedTest, APodThatIsGoneEndsAtOnce) {
  (void)Ask();
  const auto stream = feed_.Open(web_);
  Push(*stream, 7);
  feed_.Poll();
  pods_.RemovePod(web_);
  clock_.Advance(1s);
  feed_.Poll();
  Push(*stream, 8);  // its stream is still half open
  EXPECT_EQ(Samples(), "7@0 end@1 ");
}

TEST_F(EnvoyFeedTest, APodIsOfTheWorkloadThatItIsOfNow) {
  (void)Ask();
  const auto stream = feed_.Open(web_);
  Push(*stream, 7);
  pods_.SetWorkloadOf(web_, "shop");
  clock_.Advance(1s);
  feed_.Poll();
  Push(*stream, 8);
  EXPECT_EQ(Samples(Named("inbound_active_requests", {{"workload", "web"}})), "7@0 end@1 ");
  EXPECT_EQ(Samples(Named("inbound_active_requests", {{"workload", "shop"}})), "7@0 8@1 ");
}

TEST_F(EnvoyFeedTest, AnotherStreamThatCountsIsHeardAndThisOneNot) {
  (void)Ask();
  const auto old_stream = feed_.Open(web_);
  const auto new_stream = feed_.Open(web_);
  Push(*new_stream, 2);
  clock_.Advance(1s);
  Push(*old_stream, 40);
  EXPECT_EQ(Samples(), "2@0 ");
}

TEST_F(EnvoyFeedTest, SilenceOfASelectedWorkloadIsAnErrorThatSaysWhich) {
  EXPECT_EQ(Checked(Named("up")), "ok");
  EXPECT_THAT(Checked(), HasSubstr("nobody asked for it before"));
  (void)Ask();
  feed_.Poll();
  EXPECT_THAT(Checked(), HasSubstr("none of its 1 pods has a fresh heartbeat"));
  const auto stream = feed_.Open(web_);
  Push(*stream, 7);
  EXPECT_EQ(Checked(), "ok");
  EXPECT_THAT(Checked(Named("inbound_active_requests", {{"workload", "wbe"}})),
              HasSubstr("no pod is known that it selects"));

  const metric::PodKey db{"shop", "db-0"};
  pods_.AddPod(db);
  pods_.SetWorkloadOf(db, "db");
  feed_.Poll();
  EXPECT_EQ(Checked(), "ok") << "a workload without any Envoy is none of ours";
  const auto other = feed_.Open(db);
  Push(*other, 1);
  clock_.Advance(15s);
  Push(*stream, 7);
  clock_.Advance(10s);
  feed_.Poll();
  EXPECT_THAT(Checked(), HasSubstr("no pod of shop/db has a fresh heartbeat any more"));
  EXPECT_EQ(Checked(Named("inbound_active_requests", {{"workload", "web"}})), "ok");
}

TEST_F(EnvoyFeedTest, SelectorsWithoutANameMeanOtherSeriesToo) {
  (void)Ask();
  feed_.Poll();
  EXPECT_EQ(Checked({*Matcher::Make(Matcher::Op::kEqual, "job", "loki")}), "ok");
  EXPECT_THAT(Checked({*Matcher::Make(Matcher::Op::kEqual, "pod", "web-0")}),
              HasSubstr("none of its 1 pods has a fresh heartbeat"));
}

TEST_F(EnvoyFeedTest, PodsThatAreNotKnownAreAnError) {
  (void)Ask();
  const auto stream = feed_.Open(web_);
  Push(*stream, 7);
  feed_.Poll();
  pods_.Fail(base::Error{base::Code::kUnavailable, "the pod list is not complete yet"});
  feed_.Poll();
  EXPECT_THAT(Checked(), HasSubstr("the pod list is not complete yet"));
  pods_.Fail(std::nullopt);
  feed_.Poll();
  EXPECT_EQ(Checked(), "ok");
}

/// Over a store that another replica fills, and that fails as the test says.
class EnvoyFeedOverSharedStoreTest : public EnvoyFeedTest {
 protected:
  void Poll() { shared_feed_.Poll(); }
  void Set(const metric::PodKey& pod, double requests, base::SteadyTime received) {
    shared_.SetValue(pod, kRequests, requests, received);
    shared_.SetIdle(pod, MetricKind::kOutboundActiveRequests, received);
    shared_.SetIdle(pod, MetricKind::kActiveConnections, received);
  }

  store::FakeStore shared_;
  EnvoyFeed shared_feed_{{}, shared_, pods_, series_, clock_, registry_};
};

TEST_F(EnvoyFeedOverSharedStoreTest, FlushesOfOtherReplicasComeOnceHoweverTheirTimeIsKnown) {
  (void)Ask();
  Set(web_, 3, clock_.Now());
  Poll();
  Set(web_, 3, clock_.Now() + 40ms);
  clock_.Advance(500ms);
  Poll();
  EXPECT_EQ(Samples(), "3@0 ");
  Set(web_, 4, clock_.Now());
  Poll();
  EXPECT_EQ(Samples(), "3@0 4@0.5 ");
}

TEST_F(EnvoyFeedOverSharedStoreTest, AStoreThatIsAwayIsAnErrorAndEndsNoSeries) {
  (void)Ask();
  Set(web_, 3, clock_.Now());
  Poll();
  shared_.Fail(base::Error{base::Code::kUnavailable, "Redis does not answer"});
  clock_.Advance(30s);
  Poll();
  const auto checked = shared_feed_.Check(kInbound);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("Redis does not answer"));
  EXPECT_EQ(Samples(), "3@0 ");
}

TEST_F(EnvoyFeedOverSharedStoreTest, PodsOfThePartThatDoesNotAnswerAreUnknownAndNotSilent) {
  (void)Ask();
  Set(web_, 3, clock_.Now());
  Poll();
  const metric::PodKey lost{"shop", "web-1"};
  pods_.AddPod(lost);
  pods_.SetWorkloadOf(lost, "lost");
  shared_.SetPartial(true);
  Poll();
  const auto checked = shared_feed_.Check(kInbound);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("the part of the store that has pod shop/web-1"));
  EXPECT_TRUE(shared_feed_.Check(Named("inbound_active_requests", {{"workload", "web"}})));
  EXPECT_EQ(Samples(), "3@0 ");
}

TEST_F(EnvoyFeedOverSharedStoreTest, APollWaitsForTheOneUnderWay) {
  (void)Ask();
  std::vector<std::move_only_function<void()>> held;
  shared_.HoldAnswers([&](auto answer) { held.push_back(std::move(answer)); });
  Poll();
  Poll();
  EXPECT_EQ(shared_.reads(), 3) << "one trip, for three metrics";
  for (auto& answer : held) answer();
  Poll();
  EXPECT_EQ(shared_.reads(), 6);
}

TEST_F(EnvoyFeedOverSharedStoreTest, APushThatComesWhileAPollSaysMissingIsNotEnded) {
  (void)Ask();
  std::vector<std::move_only_function<void()>> held;
  shared_.HoldAnswers([&](auto answer) { held.push_back(std::move(answer)); });
  Poll();
  const auto stream = shared_feed_.Open(web_);
  Push(*stream, 3);
  for (auto& answer : held) answer();
  EXPECT_EQ(Samples(), "3@0 ");
}

}  // namespace
}  // namespace activescale::signal
