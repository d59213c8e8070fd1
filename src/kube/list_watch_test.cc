#include "kube/list_watch.h"

#include <gtest/gtest.h>

#include <string>

namespace activescale::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = RequestFailure::Kind;
using Reason = ListWatch::ListReason;
using Step = ListWatch::Step;

constexpr milliseconds kMin(1000);

/// A machine whose jitter always takes the whole backoff less nothing: random is just below 1.
ListWatch Machine(double random = 0.999999) {
  return ListWatch({.page_size = 10,
                    .backoff_min = kMin,
                    .backoff_max = milliseconds(8000),
                    .reconnect_max = milliseconds(4000),
                    .watch_timeout = seconds(100)},
                   [random] { return random; });
}

RequestFailure Status(int status) { return {.kind = Kind::kStatus, .http_status = status}; }

const ListWatch::ListPage* AsPage(const Step& step) {
  return std::get_if<ListWatch::ListPage>(&step.request);
}
const ListWatch::Watch* AsWatch(const Step& step) {
  return std::get_if<ListWatch::Watch>(&step.request);
}

/// Lists one page and gives the watch that follows.
Step Synced(ListWatch& machine, std::string_view version = "5") {
  (void)machine.Start();
  return machine.OnPage(version, "");
}

TEST(ListWatchTest, TurnsThePagesThenWatchesFromTheListsVersion) {
  ListWatch machine = Machine();
  Step step = machine.Start();
  ASSERT_NE(AsPage(step), nullptr);
  EXPECT_EQ(AsPage(step)->continue_token, "");
  EXPECT_EQ(AsPage(step)->limit, 10U);
  EXPECT_EQ(AsPage(step)->reason, Reason::kFirst);
  step = machine.OnPage("5", "more");
  ASSERT_NE(AsPage(step), nullptr);
  EXPECT_EQ(AsPage(step)->continue_token, "more");
  EXPECT_FALSE(machine.synced());
  step = machine.OnPage("5", "");
  ASSERT_NE(AsWatch(step), nullptr);
  EXPECT_EQ(AsWatch(step)->resource_version, "5");
  EXPECT_GE(AsWatch(step)->timeout, seconds(199));
  EXPECT_EQ(step.delay, milliseconds(0));
  EXPECT_TRUE(machine.synced());
}

TEST(ListWatchTest, AWatchThatEndsByItselfGoesOnFromTheLastEventOrBookmark) {
  ListWatch machine = Machine();
  (void)Synced(machine);
  machine.OnEvent("6");
  machine.OnEvent("9");
  machine.OnEvent("");
  const Step step = machine.OnWatchEnded(seconds(300), {});
  ASSERT_NE(AsWatch(step), nullptr);
  EXPECT_EQ(AsWatch(step)->resource_version, "9");
  EXPECT_EQ(step.delay, milliseconds(0));
  EXPECT_FALSE(step.fresh_connection);
}

TEST(ListWatchTest, WatchesThatEndAtOnceAreNotAskedForInATightLoop) {
  ListWatch machine = Machine();
  (void)Synced(machine);
  EXPECT_EQ(machine.OnWatchEnded(milliseconds(3), {}).delay, kMin - milliseconds(1));
  EXPECT_EQ(machine.OnWatchEnded(milliseconds(3), {}).delay, 2 * kMin - milliseconds(1));
  machine.OnEvent("6");  // even with an event each
  EXPECT_EQ(machine.OnWatchEnded(milliseconds(3), {}).delay, kMin - milliseconds(1));
}

TEST(ListWatchTest, WhatFailsIsTriedAgainLaterAndLaterWithinTheBound) {
  ListWatch machine = Machine();
  (void)machine.Start();
  for (const int want : {999, 1999, 3999, 7999, 7999, 7999}) {
    const Step step = machine.OnPageFailed(Status(503));
    ASSERT_NE(AsPage(step), nullptr);
    EXPECT_EQ(step.delay, milliseconds(want));
    EXPECT_FALSE(step.fresh_connection);
  }
  for (const int want : {999, 1999, 3999, 3999}) {
    const Step step = machine.OnPageFailed({.kind = Kind::kConnection});
    EXPECT_EQ(step.delay, milliseconds(want)) << "another kind begins anew, and has its own bound";
    EXPECT_TRUE(step.fresh_connection);
  }
  EXPECT_EQ(Machine(0).OnPageFailed({.kind = Kind::kConnection}).delay, kMin / 2)
      << "jitter takes up to half of the backoff";
}

TEST(ListWatchTest, TheServersRetryAfterCountsIfLonger) {
  ListWatch machine = Machine();
  RequestFailure busy = Status(429);
  busy.retry_after = seconds(7);
  EXPECT_EQ(machine.OnPageFailed(busy).delay, seconds(7));
  busy.retry_after = seconds(100'000);
  EXPECT_EQ(machine.OnPageFailed(busy).delay, seconds(120)) << "but not for ever";
}

TEST(ListWatchTest, AFailedPageIsAskedForAgainNotTheWholeList) {
  ListWatch machine = Machine();
  (void)machine.Start();
  (void)machine.OnPage("5", "more");
  const Step step = machine.OnPageFailed({.kind = Kind::kDeadline});
  ASSERT_NE(AsPage(step), nullptr);
  EXPECT_EQ(AsPage(step)->continue_token, "more");
}

TEST(ListWatchTest, AnExpiredPageStartsTheListAgainInOnePiece) {
  ListWatch machine = Machine();
  (void)machine.Start();
  (void)machine.OnPage("5", "more");
  Step step = machine.OnPageFailed(Status(410));
  ASSERT_NE(AsPage(step), nullptr);
  EXPECT_EQ(AsPage(step)->continue_token, "");
  EXPECT_EQ(AsPage(step)->limit, 0U);
  (void)machine.OnPage("8", "");
  machine.OnEvent("9");
  step = machine.OnWatchEnded(seconds(60), Status(410));
  ASSERT_NE(AsPage(step), nullptr);
  EXPECT_EQ(AsPage(step)->limit, 10U) << "the next list has pages again";
}

TEST(ListWatchTest, GarbageInAPageOrAListWithoutVersionStartsAgain) {
  ListWatch machine = Machine();
  (void)machine.Start();
  (void)machine.OnPage("5", "more");
  Step step = machine.OnPageFailed({.kind = Kind::kGarbage});
  ASSERT_NE(AsPage(step), nullptr);
  EXPECT_EQ(AsPage(step)->continue_token, "");
  EXPECT_GT(step.delay, milliseconds(0));
  step = machine.OnPage("", "");
  ASSERT_NE(AsPage(step), nullptr);
  EXPECT_GT(step.delay, milliseconds(0));
  (void)machine.OnPage("5", "same");
  step = machine.OnPage("5", "same");
  ASSERT_NE(AsPage(step), nullptr);
  EXPECT_GT(step.delay, milliseconds(0)) << "a page that leads to itself is garbage";
  EXPECT_FALSE(machine.synced());
}

TEST(ListWatchTest, AnExpiredVersionLeadsToANewListAtOnceButNotToALoopOfLists) {
  ListWatch machine = Machine();
  (void)Synced(machine);
  for (int i = 0; i < 5; ++i) {
    (void)machine.OnWatchEnded(seconds(0), RequestFailure{.kind = Kind::kConnection});
  }
  Step step = machine.OnWatchEnded(milliseconds(1), Status(410));
  ASSERT_NE(AsPage(step), nullptr);
  EXPECT_EQ(AsPage(step)->reason, Reason::kExpired);
  EXPECT_EQ(step.delay, milliseconds(0)) << "the server is back after an outage";
  for (const int want : {1999, 3999, 7999}) {
    (void)machine.OnPage("8", "");
    step = machine.OnWatchEnded(milliseconds(1), Status(410));
    EXPECT_EQ(step.delay, milliseconds(want));
  }
  (void)machine.OnPage("8", "");
  machine.OnEvent("9");
  EXPECT_EQ(machine.OnWatchEnded(seconds(2), Status(410)).delay, milliseconds(0));
}

TEST(ListWatchTest, SilenceReconnectsAtOnceOnAFreshConnectionThenLater) {
  ListWatch machine = Machine();
  (void)Synced(machine);
  machine.OnEvent("6");
  Step step = machine.OnWatchEnded(seconds(100), RequestFailure{.kind = Kind::kDeadline});
  ASSERT_NE(AsWatch(step), nullptr);
  EXPECT_EQ(AsWatch(step)->resource_version, "6");
  EXPECT_EQ(step.delay, milliseconds(0));
  EXPECT_TRUE(step.fresh_connection);
  step = machine.OnWatchEnded(seconds(1), RequestFailure{.kind = Kind::kDeadline});
  EXPECT_GT(step.delay, milliseconds(0));
}

TEST(ListWatchTest, AVersionThatIsRefusedThreeTimesIsGivenUp) {
  struct Case {
    RequestFailure failure;
    bool gives_up;
  };
  const Case cases[] = {
      {{.kind = Kind::kGarbage}, true},
      {Status(504), true},
      {Status(400), true},
      {Status(500), true},
      {Status(401), false},
      {Status(403), false},
      {Status(429), false},
      {Status(503), false},
      {{.kind = Kind::kConnection}, false},
  };
  for (const Case& c : cases) {
    ListWatch machine = Machine();
    (void)Synced(machine);
    EXPECT_NE(AsWatch(machine.OnWatchEnded(seconds(0), c.failure)), nullptr);
    EXPECT_NE(AsWatch(machine.OnWatchEnded(seconds(0), c.failure)), nullptr);
    const Step step = machine.OnWatchEnded(seconds(0), c.failure);
    EXPECT_EQ(AsPage(step) != nullptr, c.gives_up) << Name(c.failure.kind) << c.failure.http_status;
    EXPECT_GT(step.delay, milliseconds(0));
  }
}

TEST(ListWatchTest, ProgressEndsABackoff) {
  ListWatch machine = Machine();
  (void)Synced(machine);
  for (int i = 0; i < 5; ++i) {
    (void)machine.OnWatchEnded(seconds(0), RequestFailure{.kind = Kind::kConnection});
  }
  machine.OnEvent("7");
  EXPECT_EQ(machine.OnWatchEnded(seconds(5), RequestFailure{.kind = Kind::kConnection}).delay,
            kMin - milliseconds(1));
}

}  // namespace
}  // namespace activescale::kube
