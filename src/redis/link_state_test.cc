#include "redis/link_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/fake_clock.h"
#include "redis/health.h"
#include "redis/server_clock.h"

namespace activescale::redis {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

class LinkStateTest : public testing::Test {
 protected:
  base::SteadyTime Now() { return clock_.Now(); }
  void BecomeReady() {
    link_.OnAttempt(Now());
    link_.OnReady(Now());
  }
  /// How long until an attempt is due, to the millisecond.
  milliseconds Delay() {
    milliseconds waited{0};
    while (!link_.AttemptDue(Now() + waited) && waited < seconds(60)) ++waited;
    return waited;
  }

  base::FakeClock clock_;
  std::mt19937_64 random_{7};
  LinkState link_{random_, clock_.Now()};
};

TEST_F(LinkStateTest, FreshLinkIsIdleAndTriesAtOnce) {
  EXPECT_EQ(link_.phase(), LinkPhase::kIdle);
  EXPECT_TRUE(link_.AttemptDue(Now()));
  link_.OnAttempt(Now());
  EXPECT_EQ(link_.phase(), LinkPhase::kConnecting);
  EXPECT_FALSE(link_.AttemptDue(Now()));
}

TEST_F(LinkStateTest, DelaysGrowAreJitteredAndBounded) {
  std::vector<milliseconds> delays;
  for (int i = 0; i < 60; ++i) {
    link_.OnAttempt(Now());
    link_.OnLost(Now(), "refused");
    delays.push_back(Delay());
    clock_.Advance(delays.back());
  }
  milliseconds step = Backoff::kFirst;
  bool jittered = false;
  for (const milliseconds delay : delays) {
    EXPECT_GE(delay, step / 2);
    EXPECT_LE(delay, step);
    jittered = jittered || delay != step;
    step = std::min(step * 2, Backoff::kLargest);
  }
  EXPECT_TRUE(jittered);
  EXPECT_EQ(link_.phase(), LinkPhase::kFailing);
  EXPECT_EQ(link_.since(), base::FakeClock().Now()) << "since the first failure";
  EXPECT_EQ(link_.attempts(), 60u);
}

TEST_F(LinkStateTest, AServerThatAcceptsAndClosesMeetsTheWholeBackoff) {
  milliseconds longest{0};
  for (int i = 0; i < 10; ++i) {
    BecomeReady();
    clock_.Advance(milliseconds(5));
    link_.OnIdleClosed(Now());
    longest = std::max(longest, Delay());
    clock_.Advance(Delay());
  }
  EXPECT_GE(longest, Backoff::kLargest / 2);
}

TEST_F(LinkStateTest, AHealthyLinkIsTakenUpAgainAtOnce) {
  for (int i = 0; i < 8; ++i) {
    link_.OnAttempt(Now());
    link_.OnLost(Now(), "refused");
  }
  BecomeReady();
  clock_.Advance(LinkState::kHealthy);
  link_.OnLost(Now(), "reset");
  EXPECT_EQ(Delay(), milliseconds(0));
  link_.OnAttempt(Now());
  link_.OnLost(Now(), "refused");
  EXPECT_LE(Delay(), Backoff::kFirst) << "the backoff starts anew";
}

// The seed's second behaviour, on the state itself: an idle link leaves idle by a nudge alone.
TEST_F(LinkStateTest, NudgeStartsAnAttemptAtMostOnceASecond) {
  link_.OnAttempt(Now());
  EXPECT_FALSE(link_.Nudge(Now())) << "one attempt at a time";
  link_.OnLost(Now(), "refused");
  int started = 0;
  for (int i = 0; i < 100; ++i) {  // probes each 10 ms
    if (link_.Nudge(Now())) {
      ++started;
      link_.OnAttempt(Now());
      link_.OnLost(Now(), "refused");
    }
    clock_.Advance(milliseconds(10));
  }
  EXPECT_EQ(started, 1);
  EXPECT_TRUE(link_.Nudge(Now()));
}

TEST_F(LinkStateTest, IdleLongerThanHalfAnHourIsNotForgotten) {
  BecomeReady();
  clock_.Advance(minutes(35));
  link_.OnIdleClosed(Now());
  EXPECT_EQ(link_.phase(), LinkPhase::kIdle);
  EXPECT_TRUE(link_.AttemptDue(Now()));
  clock_.Advance(minutes(35));
  EXPECT_TRUE(link_.AttemptDue(Now()));
  EXPECT_TRUE(link_.Nudge(Now()));
}

TEST_F(LinkStateTest, ClosedStaysClosed) {
  BecomeReady();
  link_.OnClosed(Now());
  clock_.Advance(minutes(1));
  EXPECT_FALSE(link_.AttemptDue(Now()));
  EXPECT_FALSE(link_.Nudge(Now()));
  EXPECT_EQ(PhaseName(link_.phase()), "closed");
}

ClientHealth Nodes(std::vector<NodeHealth> nodes) { return {.nodes = std::move(nodes)}; }

TEST(HealthTest, SaysStateAgeAndReason) {
  base::FakeClock clock;
  const base::SteadyTime since = clock.Now();
  clock.Advance(seconds(12));
  const base::SteadyTime now = clock.Now();
  const NodeHealth good{"master a:1", true, LinkPhase::kReady, since, "", 0};
  const NodeHealth bad{"master b:2", true, LinkPhase::kFailing, since, "refused", 9};
  const NodeHealth sentinel{"sentinel s:3", false, LinkPhase::kFailing, since, "refused", 2};
  const struct {
    ClientHealth health;
    bool ok;
    bool partial;
    const char* want;
  } cases[] = {
      {{}, false, false, "no master is known"},
      {Nodes({good}), true, false, "master a:1 ready for 12.0s"},
      {Nodes({bad}), false, false, "master b:2 failing for 12.0s (9 attempts): refused"},
      {Nodes({good, bad}), true, true, "1 of 2 masters ready; master b:2 failing"},
      {Nodes({good, sentinel}), true, false, "; sentinel s:3 failing"},
      {Nodes({sentinel}), false, false, "no master is known; sentinel s:3 failing"},
      {{.nodes = {good}, .slots_without_node = 5}, true, true, "5 slots have no master"},
      {{.problem = "the Sentinel knows no such name"}, false, false, "no such name"},
  };
  for (const auto& c : cases) {
    const HealthSummary summary = Summarize(c.health, now);
    EXPECT_EQ(summary.ok, c.ok) << c.want;
    EXPECT_EQ(summary.partial, c.partial) << c.want;
    EXPECT_THAT(summary.text, HasSubstr(c.want));
  }
}

class ServerClockTest : public testing::Test {
 protected:
  static base::SteadyTime At(microseconds at) { return base::SteadyTime(at); }
  static ServerTime Server(microseconds at) { return ServerTime(at); }
};

// The true offset is +1000 s in these tests.
TEST_F(ServerClockTest, NeverMakesAnythingYounger) {
  const microseconds offset = seconds(1000);
  // Asked at 10.000, executed at 10.003, answered at 10.010.
  ServerClock clock(At(seconds(10)), At(seconds(10) + milliseconds(10)),
                    Server(seconds(10) + milliseconds(3) + offset));
  const microseconds moment = seconds(9);
  EXPECT_LE(clock.ToServer(At(moment)), Server(moment + offset));
  EXPECT_GE(clock.ToServer(At(moment)), Server(moment + offset - milliseconds(10)));
  EXPECT_LE(clock.ToLocal(Server(moment + offset)), At(moment));
  EXPECT_GE(clock.ToLocal(Server(moment + offset)), At(moment - milliseconds(10)));
}

TEST_F(ServerClockTest, ASlowAnswerDoesNotSpoilAQuickOne) {
  const microseconds offset = seconds(1000);
  ServerClock clock(At(seconds(10)), At(seconds(10) + microseconds(100)),
                    Server(seconds(10) + microseconds(50) + offset));
  clock.Observe(At(seconds(11)), At(seconds(13)), Server(seconds(12) + offset));
  EXPECT_GE(clock.ToServer(At(seconds(20))), Server(seconds(20) + offset - microseconds(100)));
}

TEST_F(ServerClockTest, FollowsAClockThatWasSet) {
  ServerClock clock(At(seconds(10)), At(seconds(10)), Server(seconds(1010)));
  clock.Observe(At(seconds(11)), At(seconds(11)), Server(seconds(4611)));
  EXPECT_EQ(clock.ToServer(At(seconds(12))), Server(seconds(4612))) << "an hour forward";
  clock.Observe(At(seconds(13)), At(seconds(13)), Server(seconds(1013)));
  EXPECT_EQ(clock.ToServer(At(seconds(14))), Server(seconds(1014))) << "an hour back";
}

TEST_F(ServerClockTest, ReadsTheAnswerOfTime) {
  const auto time = [](const std::string& sec, const std::string& micros) {
    Reply reply{.type = Reply::Type::kArray};
    for (const std::string& text : {sec, micros}) {
      reply.elements.push_back({.type = Reply::Type::kString, .text = text});
    }
    return ParseTime(reply);
  };
  EXPECT_EQ(time("1700000000", "250000").value(), ServerTime(milliseconds(1700000000250)));
  EXPECT_FALSE(time("x", "0"));
  EXPECT_FALSE(time("-1", "0"));
  EXPECT_FALSE(time("1", "1000000"));
  EXPECT_FALSE(time("99999999999999", "0"));
  EXPECT_FALSE(ParseTime({.type = Reply::Type::kStatus, .text = "OK"}));
}

}  // namespace
}  // namespace activescale::redis
