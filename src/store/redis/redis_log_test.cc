// RedisLog before a real server.
#include "store/redis/redis_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "redis/testing/redis_server.h"
#include "store/redis/testing/replica.h"

namespace activescale::store {
namespace {

using redis::Eventually;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// A replica and what it heard of the others.
class Listener {
 public:
  explicit Listener(const redis::RedisServer& server, std::chrono::nanoseconds clock_moved = {},
                    redis::Login login = {})
      : replica_({.addresses = {server.address()}, .login = std::move(login)}, {}, clock_moved,
                 [this](std::string_view entry, base::SteadyTime /*written*/) {
                   const base::MutexLock lock(mutex_);
                   heard_.emplace_back(entry);
                 }) {
    EXPECT_TRUE(replica_.BecomesReady());
  }

  bool Say(std::string entry) { return replica_.store().log().Append(std::move(entry)); }
  std::vector<std::string> Heard() {
    const base::MutexLock lock(mutex_);
    return heard_;
  }
  bool Hears(const std::string& entry) {
    return Eventually([&] { return testing::Value(Heard(), Contains(entry)); });
  }
  double Counter(const std::string& name) { return replica_.Counter(name); }

 private:
  base::Mutex mutex_;
  std::vector<std::string> heard_ GUARDED_BY(mutex_);
  Replica replica_;
};

class RedisLogTest : public testing::Test {
 protected:
  redis::RedisServer server_;
};

TEST_F(RedisLogTest, EveryOtherReplicaHearsAnEntryOnceAndTheWriterDoesNot) {
  Listener one(server_);
  Listener two(server_, std::chrono::hours(1));  // by its own clock
  Listener three(server_);
  for (int i = 0; i < 600; ++i) EXPECT_TRUE(one.Say(std::to_string(i)));
  EXPECT_TRUE(two.Say(std::string("\0\r\n", 3)));
  ASSERT_TRUE(one.Hears(std::string("\0\r\n", 3)));
  for (Listener* listener : {&two, &three}) {
    ASSERT_TRUE(listener->Hears("599"));
    std::vector<std::string> heard = listener->Heard();
    std::erase(heard, std::string("\0\r\n", 3));
    ASSERT_EQ(heard.size(), 600U);
    for (int i = 0; i < 600; ++i) EXPECT_EQ(heard[static_cast<size_t>(i)], std::to_string(i));
  }
  EXPECT_THAT(one.Heard(), ElementsAre(std::string("\0\r\n", 3)));
}

TEST_F(RedisLogTest, AReplicaThatStartsHearsTheLastMinute) {
  Listener one(server_);
  one.Say("before");
  ASSERT_TRUE(Eventually([&] { return server_.Do({"EXISTS", "activescale:{log}"}) == "1"; }));
  Listener late(server_);
  EXPECT_TRUE(late.Hears("before"));
}

TEST_F(RedisLogTest, TheStreamGoesWhenItsWritersAreGone) {
  Listener one(server_);
  one.Say("x");
  ASSERT_TRUE(Eventually([&] { return server_.Do({"EXISTS", "activescale:{log}"}) == "1"; }));
  const int64_t ms = std::stoll(server_.Do({"PTTL", "activescale:{log}"}));
  EXPECT_GT(ms, 60'000);
  EXPECT_LE(ms, 120'000);
}

TEST_F(RedisLogTest, WhatIsSaidWhileTheServerIsAwayArrivesWhenItIsBack) {
  Listener one(server_);
  Listener two(server_);
  one.Say("first");
  ASSERT_TRUE(two.Hears("first"));
  server_.Kill();
  one.Say("second");
  server_.Start();  // empty, as after a failover that lost everything
  EXPECT_TRUE(two.Hears("second"));
}

TEST_F(RedisLogTest, AFullQueueDropsAndCounts) {
  Listener one(server_);
  server_.Freeze();
  const std::string large(SharedLog::kMaxEntryBytes, 'x');
  EXPECT_FALSE(one.Say(large + "x")) << "no entry may be larger";
  int taken = 0;
  while (taken < 100 && one.Say(large)) ++taken;
  EXPECT_GE(taken, 8);
  EXPECT_LE(taken, 10);
  EXPECT_EQ(one.Counter("activescale_redis_log_entries_dropped_total"), 2);
  server_.Thaw();
}

TEST_F(RedisLogTest, TheRightsThatTheDocumentationNamesAreEnough) {
  server_.Do({"ACL", "SETUSER", "ops", "on", ">pw", "~activescale:*", "+ping", "+time", "+role",
              "+get", "+set", "+mget", "+eval", "+evalsha", "+xadd", "+xread", "+pexpire"});
  const redis::Login login{.user = "ops", .password = redis::Secret("pw"), .password_file = ""};
  Listener one(server_, {}, login);
  Listener two(server_, {}, login);
  one.Say("x");
  EXPECT_TRUE(two.Hears("x"));
}

TEST_F(RedisLogTest, AKeyOfAnotherKindIsAFailureThatIsCounted) {
  server_.Do({"SET", "activescale:{log}", "mine"});
  Listener one(server_);
  Listener two(server_);
  one.Say("x");
  EXPECT_TRUE(Eventually([&] {
    return two.Counter("activescale_redis_log_failures_total") > 0 &&
           one.Counter("activescale_redis_log_failures_total") > 1;
  }));
  EXPECT_THAT(two.Heard(), IsEmpty());
  server_.Do({"DEL", "activescale:{log}"});
  EXPECT_TRUE(two.Hears("x"));
}

}  // namespace
}  // namespace activescale::store
