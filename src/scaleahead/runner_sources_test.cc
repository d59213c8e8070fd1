#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/fake_clock.h"
#include "scaleahead/runner.h"
#include "scaleahead/testing/fake_hands.h"
#include "scaleahead/testing/objects.h"

namespace activescale::scaleahead {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// An HPA on an External metric of which a test says what it comes from.
class RunnerSourcesTest : public ::testing::Test {
 protected:
  RunnerSourcesTest() : runner_({.mode = Mode::kOn}, MakeSeams(), hands_, clock_, registry_) {
    runner_.OnTarget({.ns = "shop",
                      .kind = "Deployment",
                      .resource = "deployments",
                      .name = "web",
                      .resource_version = "1",
                      .selector = "app=web",
                      .spec_replicas = 2,
                      .status_replicas = 2});
    kube::HpaObject hpa = WebHpa();
    hpa.spec.metrics = {{hpa::MetricType::kExternal, hpa::TargetType::kAverageValue, 10'000, "s0"}};
    runner_.OnHpa(hpa);
  }

  Seams MakeSeams() {
    return {.reader_of = [this](const kube::HpaObject&, size_t,
                                const std::string&) -> base::Result<MetricReader> {
              ++asked_;
              if (!source_) return std::unexpected(source_.error());
              return [this, milli = *source_](std::move_only_function<void(MetricReading)> done) {
                auto answer = [milli, done = std::move(done)]() mutable {
                  MetricReading reading;
                  reading.answer.values = {milli};
                  done(std::move(reading));
                };
                if (answers_) return answer();
                waiting_.push_back(std::move(answer));
              };
            },
            .pods_of =
                [](std::string_view, const metric::Selector&) {
                  return std::vector<TargetPod>{
                      {.pod = {.name = "web-0"}, .ready_since = kLongAgo},
                      {.pod = {.name = "web-1"}, .ready_since = kLongAgo}};
                },
            .workload_of = [](metric::PodKeyView) { return std::nullopt; },
            .acts_for = [](std::string_view) { return true; },
            .watches_fresh = [](std::string_view) { return true; },
            .stepped = [](const kube::HpaObject&, const metric::Selector&) {},
            .broken = [](const kube::HpaObject&) {},
            .post = [this](auto work) { posted_.push_back(std::move(work)); }};
  }

  void Run(std::chrono::nanoseconds time) {
    const base::SteadyTime end = clock_.Now() + time;
    while (clock_.Now() < end) {
      clock_.Advance(milliseconds(100));
      runner_.Tick();
      while (!posted_.empty()) {
        auto work = std::move(posted_.front());
        posted_.pop_front();
        work();
      }
    }
  }
  void Change(base::Result<int64_t> source) {
    source_ = std::move(source);
    runner_.OnSourcesChanged("shop");
  }
  [[nodiscard]] static std::unexpected<base::Error> NotOurs(std::string why) {
    return base::Fail(base::Code::kNotFound, std::move(why));
  }
  [[nodiscard]] static std::unexpected<base::Error> Unknown() {
    return base::Fail(base::Code::kUnavailable, "not listed yet");
  }

  static constexpr base::SteadyTime kLongAgo{};
  base::FakeClock clock_;
  telemetry::Registry registry_;
  FakeHands hands_;
  base::Result<int64_t> source_ = Unknown();
  bool answers_ = true;
  int asked_ = 0;
  std::deque<std::move_only_function<void()>> waiting_;
  std::deque<std::move_only_function<void()>> posted_;
  Runner runner_;
};

TEST_F(RunnerSourcesTest, WhatIsNotKnownYetIsNoFaultAndIsAskedForAgain) {
  Run(seconds(60));
  EXPECT_THAT(hands_.notices, IsEmpty());
  const int asked = asked_;
  Run(seconds(10));
  EXPECT_NEAR(asked_ - asked, 10, 1) << "once a second";
  source_ = 40'000;  // it says nothing of that
  Run(seconds(3));
  ASSERT_THAT(hands_.steps, SizeIs(1));
  EXPECT_EQ(hands_.steps[0].replicas, 4);
}

TEST_F(RunnerSourcesTest, ASourceThatIsNotOursIsToldWithItsReasonAndAnotherReasonAgain) {
  Change(NotOurs("asks elsewhere"));
  Run(seconds(60));
  EXPECT_THAT(hands_.notices, ElementsAre("ScaleAheadRefused"));
  EXPECT_THAT(hands_.notes[0], HasSubstr("External s0: asks elsewhere"));
  Change(NotOurs("has a fallback"));
  Run(seconds(60));
  ASSERT_THAT(hands_.notices, ElementsAre("ScaleAheadRefused", "ScaleAheadRefused"));
  EXPECT_THAT(hands_.notes[1], HasSubstr("has a fallback"));
}

TEST_F(RunnerSourcesTest, AChangedSourceIsReadAnewAndOneThatWentEndsTheSteps) {
  Change(20'000);
  Run(seconds(60));
  EXPECT_THAT(hands_.steps, IsEmpty()) << "two pods are what it asks for";
  Change(50'000);
  Run(seconds(2));
  ASSERT_THAT(hands_.steps, SizeIs(1));
  EXPECT_EQ(hands_.steps[0].replicas, 5);
  hands_.calls.front().done({});
  Change(NotOurs("asks elsewhere"));
  runner_.OnPushed({.pods = {{"shop", "web-0"}}});
  Run(seconds(60));
  EXPECT_THAT(hands_.steps, SizeIs(1));
  EXPECT_THAT(hands_.notices, ElementsAre("ScaledAhead", "ScaleAheadRefused"));
}

TEST_F(RunnerSourcesTest, AnAnswerToTheFormerQuestionIsDropped) {
  Change(20'000);
  Run(seconds(60));
  Change(50'000);
  Run(seconds(1));
  answers_ = false;
  Change(90'000);
  Run(milliseconds(500));
  ASSERT_THAT(waiting_, SizeIs(1));
  EXPECT_THAT(hands_.steps, IsEmpty()) << "the step is due with the answer";
  Change(20'000);
  answers_ = true;
  waiting_.front()();
  Run(seconds(5));
  EXPECT_THAT(hands_.steps, IsEmpty());
}

TEST_F(RunnerSourcesTest, AnotherNamespacesSourcesAreItsOwn) {
  Change(20'000);
  Run(seconds(60));
  source_ = 90'000;
  const int asked = asked_;
  runner_.OnSourcesChanged("other");
  Run(seconds(5));
  EXPECT_EQ(asked_, asked);
  EXPECT_THAT(hands_.steps, IsEmpty());
}

}  // namespace
}  // namespace activescale::scaleahead
