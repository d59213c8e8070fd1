// RedisStore before a real server: faults, several replicas, and what it costs.
#include "store/redis/redis_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "redis/testing/redis_server.h"
#include "store/redis/testing/replica.h"

namespace activescale::store {
namespace {

using metric::PodKey;
using redis::Eventually;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

class RedisStoreTest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Replica> MakeReplica(RedisStoreOptions options = {},
                                                     std::chrono::nanoseconds clock_moved = {}) {
    return std::make_unique<Replica>(redis::Config{.addresses = {server_.address()}},
                                     std::move(options), clock_moved);
  }
  void SetUp() override {
    a_ = MakeReplica();
    b_ = MakeReplica();
    ASSERT_TRUE(a_->BecomesReady());
    ASSERT_TRUE(b_->BecomesReady());
  }
  std::string KeyOf(const PodKey& pod) { return MakeRecordKey("activescale", pod.View()).text; }

  const PodKey web_{"shop", "web-0"};
  redis::RedisServer server_;
  std::unique_ptr<Replica> a_;
  std::unique_ptr<Replica> b_;
};

TEST_F(RedisStoreTest, EachReplicaGivesTheSameAnswer) {
  auto stream = a_->store().Open(web_);
  a_->Write(*stream, 7);
  EXPECT_EQ(a_->Say(web_), "7");
  EXPECT_EQ(b_->Say(web_), "7");
}

// Case B2 of a neighbour, over two replicas.
TEST_F(RedisStoreTest, StreamAtAnotherReplicaTakesThePodOver) {
  auto half_open = a_->store().Open(web_);
  a_->Write(*half_open, 40);
  auto newer = b_->store().Open(web_);
  b_->Write(*newer, 2);
  a_->Write(*half_open, 40);
  EXPECT_EQ(a_->Say(web_), "2") << "also at the replica of the older stream";
  EXPECT_EQ(b_->Say(web_), "2");
  EXPECT_EQ(half_open->Write(FlushOf(kInbound, 41), a_->Now()), WriteOutcome::kSuperseded);
  EXPECT_GE(a_->Counter("activescale_redis_superseded_writes_total"), 1);
}

TEST_F(RedisStoreTest, CleanCloseAtAnotherReplicaGivesThePodBack) {
  auto older = a_->store().Open(web_);
  a_->Write(*older, 40);
  auto newer = b_->store().Open(web_);
  b_->Write(*newer, 2);
  newer.reset();
  b_->Settle();
  a_->Write(*older, 41);
  EXPECT_EQ(b_->Say(web_), "41");
}

// A replica that was killed releases nothing.
TEST_F(RedisStoreTest, StreamTakesOverFromAReplicaThatWasKilled) {
  auto lost = a_->store().Open(web_);
  a_->Write(*lost, 40);
  a_->RunOnLoop([] {});  // its stream object stays, and is never heard of again
  auto next = b_->store().Open(web_);
  b_->Write(*next, 5);
  EXPECT_EQ(b_->Say(web_), "5");
}

TEST_F(RedisStoreTest, ClocksAnHourApartDoNotMatter) {
  for (const auto moved : {hours(1), -hours(1)}) {
    auto other = MakeReplica({}, moved);
    ASSERT_TRUE(other->BecomesReady());
    auto stream = a_->store().Open(web_);
    a_->Write(*stream, 7);
    EXPECT_EQ(other->Say(web_), "7");
    auto taken = other->store().Open(web_);
    other->Write(*taken, 8);
    EXPECT_EQ(a_->Say(web_), "8");
    const auto result = a_->Read({web_}, kInbound);
    EXPECT_LT(a_->Now() - result->readings[0].received, seconds(1));
    EXPECT_GE(a_->Now(), result->readings[0].received);
  }
}

TEST_F(RedisStoreTest, OneWriteAFlushAndOneTripARead) {
  std::vector<PodKey> pods;
  std::vector<std::unique_ptr<PodStream>> streams;
  for (int i = 0; i < 100; ++i) {
    pods.push_back({"shop", "web-" + std::to_string(i)});
    streams.push_back(a_->store().Open(pods.back()));
  }
  a_->Settle();
  const uint64_t sets = server_.Calls("set");
  const uint64_t scripts = server_.Calls("evalsha");
  for (int flush = 0; flush < 10; ++flush) {
    for (auto& stream : streams) stream->Write(FlushOf(kInbound, flush), a_->Now());
    a_->Settle();
  }
  EXPECT_LE(server_.Calls("set") - sets, 1000u) << "at most one a flush and pod";
  EXPECT_LE(server_.Calls("evalsha") - scripts, 200u) << "batched by slot";

  const uint64_t reads = server_.Calls("mget");
  ASSERT_TRUE(a_->Read(pods, kInbound));
  EXPECT_LE(server_.Calls("mget") - reads, kTagsPerNamespace) << "one command a slot";
}

TEST_F(RedisStoreTest, EqualReadsAtTheSameTimeShareATrip) {
  std::vector<std::promise<bool>> done(50);
  const uint64_t reads = server_.Calls("mget");
  a_->RunOnLoop([&] {
    // On the loop, so that none is answered before the last is asked.
    for (auto& promise : done) {
      a_->store().Read({web_}, kInbound,
                       [&](base::Result<ReadResult> r) { promise.set_value(r.has_value()); });
    }
  });
  for (auto& promise : done) EXPECT_TRUE(promise.get_future().get());
  EXPECT_LE(server_.Calls("mget") - reads, 2u);
  EXPECT_GE(a_->Counter("activescale_redis_shared_reads_total"), 48);
}

TEST_F(RedisStoreTest, HeartbeatsRenewAtMostOnceASecond) {
  auto stream = a_->store().Open(web_);
  a_->Write(*stream, 7);
  const uint64_t sets = server_.Calls("set");
  const auto end = a_->Now() + milliseconds(2500);
  while (a_->Now() < end) {
    stream->Heartbeat(a_->Now());
    std::this_thread::sleep_for(milliseconds(5));
  }
  const uint64_t renewals = server_.Calls("set") - sets;
  EXPECT_GE(renewals, 1u);
  EXPECT_LE(renewals, 3u);
}

// Cases B5 and B8 of neighbours.
TEST_F(RedisStoreTest, RedisAwayIsAnErrorNeverZeroAndHealsWithTheNewestValues) {
  auto stream = a_->store().Open(web_);
  a_->Write(*stream, 7);
  server_.Kill();
  EXPECT_TRUE(Eventually([&] { return !a_->store().Check().ok; }));
  EXPECT_THAT(a_->Say(web_), StartsWith("error: Redis does not answer"));
  EXPECT_THAT(a_->store().Check().reason, HasSubstr("failing for"));
  for (int value = 8; value <= 12; ++value) {
    EXPECT_EQ(stream->Write(FlushOf(kInbound, value), a_->Now()), WriteOutcome::kStored);
  }
  auto opened_meanwhile = b_->store().Open({"shop", "web-1"});
  opened_meanwhile->Write(FlushOf(kInbound, 3), b_->Now());
  server_.Start();
  const auto listening = a_->Now();
  EXPECT_TRUE(Eventually([&] { return b_->Say(web_) == "12"; }));
  EXPECT_TRUE(Eventually([&] { return a_->Say({"shop", "web-1"}) == "3"; }));
  RecordProperty("recovery_ms", static_cast<int>((a_->Now() - listening) / milliseconds(1)));
  EXPECT_LT(a_->Now() - listening, seconds(2));
}

TEST_F(RedisStoreTest, WhatARestartLostIsWrittenAgainWithoutANewFlush) {
  auto stream = a_->store().Open(web_);
  a_->Write(*stream, 7);
  server_.Kill();
  server_.Start();
  EXPECT_TRUE(Eventually([&] { return b_->Say(web_) == "7"; }));
}

TEST_F(RedisStoreTest, AStoreThatStartsWithRedisDownHealsByProbesAlone) {
  server_.Kill();
  auto late = MakeReplica();
  EXPECT_FALSE(late->store().Check().ok);
  auto stream = late->store().Open(web_);
  stream->Write(FlushOf(kInbound, 7), late->Now());
  std::this_thread::sleep_for(milliseconds(300));
  server_.Start();
  EXPECT_TRUE(late->BecomesReady(seconds(2)));
  EXPECT_TRUE(Eventually([&] { return late->Say(web_) == "7"; }));
}

TEST_F(RedisStoreTest, AServersIdleTimeoutCostsNothing) {
  server_.Do({"CONFIG", "SET", "timeout", "1"});
  auto stream = a_->store().Open(web_);
  a_->Write(*stream, 7);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(a_->Say(web_), "7");
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_TRUE(a_->store().Check().ok);
}

TEST_F(RedisStoreTest, AFrozenServerIsAnswerlessWithinHalfASecond) {
  auto stream = a_->store().Open(web_);
  a_->Write(*stream, 7);
  server_.Freeze();
  const auto asked = a_->Now();
  EXPECT_THAT(a_->Say(web_), StartsWith("error: "));
  EXPECT_LT(a_->Now() - asked, milliseconds(500));
  EXPECT_TRUE(Eventually([&] { return !a_->store().Check().ok; }));
  server_.Thaw();
  EXPECT_TRUE(Eventually([&] { return a_->Say(web_) == "7"; }));
}

TEST_F(RedisStoreTest, AForgottenScriptIsSentAgain) {
  auto stream = a_->store().Open(web_);
  a_->Write(*stream, 7);
  server_.Do({"SCRIPT", "FLUSH"});
  a_->Write(*stream, 8);
  EXPECT_EQ(a_->Say(web_), "8");
}

TEST_F(RedisStoreTest, ForeignValuesAreMissingCountedAndNamed) {
  server_.Do({"RPUSH", KeyOf(web_), "x"});
  const PodKey text{"shop", "web-1"};
  server_.Do({"SET", KeyOf(text), "hello"});
  auto stream = a_->store().Open(web_);
  a_->Write(*stream, 7);
  EXPECT_EQ(a_->Say(web_), "missing");
  EXPECT_EQ(a_->Say(text), "missing");
  EXPECT_GE(a_->Counter("activescale_store_dropped_writes_total", {{"reason", "foreign_value"}}),
            1);
  EXPECT_GE(a_->Counter("activescale_redis_bad_records_total", {{"reason", "foreign_value"}}), 1);
  EXPECT_TRUE(a_->store().Check().ok);
  EXPECT_THAT(a_->store().Check().reason, HasSubstr(KeyOf(web_) + " holds a value that is not"));
  server_.Do({"DEL", KeyOf(web_)});
  a_->Write(*stream, 8);
  EXPECT_EQ(a_->Say(web_), "8");
}

TEST_F(RedisStoreTest, RecordsOfUnknownVersionsAreMissingAndOfTheNextOneAreRead) {
  Record record{.released = false, .epoch = 5, .owner = 5};
  const auto now = std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
  record.heartbeat = now;
  record.samples[0] = {now, metric::Quantity::FromMilli(9000)};
  server_.Do({"SET", KeyOf(web_), FormatRecord(record, KeyOf(web_), kRecordVersion + 2)});
  EXPECT_EQ(a_->Say(web_), "missing");
  EXPECT_GE(a_->Counter("activescale_redis_bad_records_total", {{"reason", "unknown_version"}}), 1);
  server_.Do(
      {"SET", KeyOf(web_), FormatRecord(record, KeyOf(web_), kRecordVersion + 1) + "appended"});
  EXPECT_EQ(a_->Say(web_), "9");
}

TEST_F(RedisStoreTest, RecordsOfAClockThatWasSetBackAreNotServed) {
  Record record{.released = false, .epoch = 5, .owner = 5};
  record.heartbeat = std::chrono::floor<milliseconds>(std::chrono::system_clock::now()) + hours(1);
  record.samples[0] = {record.heartbeat, metric::Quantity::FromMilli(9000)};
  server_.Do({"SET", KeyOf(web_), FormatRecord(record, KeyOf(web_))});
  EXPECT_EQ(a_->Say(web_), "missing");
  EXPECT_GE(a_->Counter("activescale_redis_bad_records_total", {{"reason", "future"}}), 1);
}

// Writes that are refused show, and so does their end, by probes alone.
TEST_F(RedisStoreTest, FullMemoryIsToldAndHealsWithoutAWrite) {
  auto stream = a_->store().Open(web_);
  a_->Write(*stream, 7);
  server_.Do({"CONFIG", "SET", "maxmemory", "1"});
  a_->Write(*stream, 8);
  EXPECT_TRUE(Eventually([&] { return !a_->store().Check().ok; }));
  EXPECT_THAT(a_->store().Check().reason, HasSubstr("maxmemory"));
  EXPECT_GE(
      a_->Counter("activescale_store_dropped_writes_total", {{"reason", "redis_out_of_memory"}}),
      1);
  server_.Do({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(a_->BecomesReady(seconds(3)));
}

TEST_F(RedisStoreTest, MissingRightsAreTold) {
  server_.Do({"ACL", "SETUSER", "ops", "on", ">pw", "~*", "+ping", "+time", "+role", "+mget"});
  Replica ops({.addresses = {server_.address()},
               .login = {.user = "ops", .password = redis::Secret("pw"), .password_file = ""}});
  auto stream = ops.store().Open(web_);
  stream->Write(FlushOf(kInbound, 7), ops.Now());
  EXPECT_TRUE(Eventually(
      [&] { return ops.store().Check().reason.find("docs/store.md") != std::string::npos; }));
  EXPECT_FALSE(ops.store().Check().ok);
  server_.Do({"ACL", "SETUSER", "ops", "+evalsha", "+eval", "+get", "+set"});
  EXPECT_TRUE(ops.BecomesReady(seconds(3)));
}

TEST_F(RedisStoreTest, StreamsBeyondTheBoundAreDroppedAndCounted) {
  auto small = MakeReplica({.max_streams = 1});
  ASSERT_TRUE(small->BecomesReady());
  auto first = small->store().Open(web_);
  auto second = small->store().Open({"shop", "web-1"});
  EXPECT_EQ(first->Write(FlushOf(kInbound, 1), small->Now()), WriteOutcome::kStored);
  EXPECT_EQ(second->Write(FlushOf(kInbound, 2), small->Now()), WriteOutcome::kDropped);
  EXPECT_GE(small->Counter("activescale_store_dropped_writes_total", {{"reason", "max_streams"}}),
            1);
  first.reset();
  small->Settle();
  EXPECT_EQ(second->Write(FlushOf(kInbound, 3), small->Now()), WriteOutcome::kStored);
  small->Settle();
  EXPECT_EQ(small->Say({"shop", "web-1"}), "3");
}

TEST_F(RedisStoreTest, ManyReconnectsWhileRedisIsAwayAreBoundedAndTheLastOneCounts) {
  auto bounded = MakeReplica({.max_streams = 100});
  ASSERT_TRUE(bounded->BecomesReady());
  server_.Kill();
  ASSERT_TRUE(Eventually([&] { return !bounded->store().Check().ok; }));
  for (int i = 0; i < 90; ++i) {
    auto stream = bounded->store().Open(web_);
    stream->Write(FlushOf(kInbound, i), bounded->Now());
  }
  EXPECT_LE(bounded->store().pending_writes(), 100u);
  server_.Start();
  bounded->Settle();
  EXPECT_EQ(bounded->Say(web_), "89");
}

TEST_F(RedisStoreTest, MetricsTellWhatTheClientDoes) {
  EXPECT_THAT(a_->Metrics(), HasSubstr("activescale_redis_ready 1"));
  a_->Say(web_);
  EXPECT_THAT(a_->Metrics(), HasSubstr("activescale_redis_commands_total"));
  EXPECT_THAT(a_->Metrics(), HasSubstr("activescale_redis_pending_writes 0"));
}

}  // namespace
}  // namespace activescale::store
