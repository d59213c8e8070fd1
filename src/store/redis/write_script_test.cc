// The ownership rules where they are decided: the script, run by a real server.
#include "store/redis/write_script.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "redis/testing/redis_server.h"
#include "store/redis/record.h"

namespace activescale::store {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class WriteScriptTest : public testing::Test {
 protected:
  static constexpr seconds kTtl{20};

  static void SetUpTestSuite() { server = new redis::RedisServer(); }
  static void TearDownTestSuite() { delete server; }
  void SetUp() override { server->Do({"FLUSHALL"}); }

  static int64_t NowMicros() {
    const std::string time = server->Do({"TIME"});
    const size_t space = time.find(' ');
    return std::stoll(time.substr(0, space)) * 1'000'000 + std::stoll(time.substr(space + 1));
  }
  static StoredTime Ago(milliseconds age) {
    return std::chrono::floor<milliseconds>(
        StoredTime::clock::time_point(microseconds(NowMicros()) - age));
  }

  /// What the script answers to one operation.
  std::string Apply(const Operation& operation) {
    return server->Do({"EVAL", std::string(kWriteScript), "1", "k",
                       std::to_string(milliseconds(kTtl).count()),
                       FormatOperation(operation, "k")});
  }
  std::string Claim(uint64_t owner, int64_t opened) {
    return Apply(
        {.claim = true, .record = {.epoch = static_cast<uint64_t>(opened), .owner = owner}});
  }
  std::string Write(uint64_t owner, uint64_t epoch, int64_t value, milliseconds age = {},
                    bool release = false) {
    Operation operation{.release = release, .record = {.epoch = epoch, .owner = owner}};
    operation.record.heartbeat = Ago(age);
    operation.record.samples[0] = {operation.record.heartbeat,
                                   metric::Quantity::FromMilli(value * 1000)};
    return Apply(operation);
  }
  std::string Release(uint64_t owner, uint64_t epoch) {
    return Apply({.release = true, .record = {.epoch = epoch, .owner = owner}});
  }
  static Record Get() {
    const auto record = ParseRecord(server->Do({"GET", "k"}), "k");
    EXPECT_TRUE(record);
    return record.value_or(Record{});
  }
  static int64_t Value() { return Get().samples[0].value.milli() / 1000; }

  static redis::RedisServer* server;
};

redis::RedisServer* WriteScriptTest::server = nullptr;

TEST_F(WriteScriptTest, ClaimGetsTheMomentItsStreamOpened) {
  const int64_t opened = NowMicros();
  EXPECT_EQ(Claim(1, opened), std::to_string(opened));
  const Record record = Get();
  EXPECT_EQ(record.owner, 1u);
  EXPECT_FALSE(record.released);
  EXPECT_EQ(record.heartbeat, StoredTime()) << "a claim is no heartbeat";
}

TEST_F(WriteScriptTest, LaterStreamWinsWhateverTheOrderOfTheClaims) {
  const int64_t now = NowMicros();
  EXPECT_EQ(Claim(2, now - 10), std::to_string(now - 10));
  EXPECT_EQ(Claim(1, now - 5'000'000), "0") << "opened earlier, came later";
  EXPECT_EQ(Claim(3, now), std::to_string(now));
  EXPECT_EQ(Get().owner, 3u);
}

TEST_F(WriteScriptTest, ClaimWhoseAnswerWasLostIsTakenAgain) {
  const int64_t now = NowMicros();
  EXPECT_EQ(Claim(1, now), std::to_string(now));
  EXPECT_EQ(Claim(1, now - 300), std::to_string(now)) << "our estimate of its clock moved";
}

TEST_F(WriteScriptTest, ClaimWhileTheServersClockWasSetBackGetsTheNextNumber) {
  const int64_t ahead = NowMicros() + microseconds(hours(1)).count();
  const Record before{.released = false, .epoch = static_cast<uint64_t>(ahead), .owner = 1};
  server->Do({"SET", "k", FormatRecord(before, "k")});
  EXPECT_EQ(Claim(2, NowMicros()), std::to_string(ahead + 1));
  EXPECT_EQ(Write(1, static_cast<uint64_t>(ahead), 40), "0");
}

TEST_F(WriteScriptTest, ClaimIsNeverAheadOfTheServersClock) {
  const int64_t epoch = std::stoll(Claim(1, NowMicros() + 50'000));
  EXPECT_LE(epoch, NowMicros());
  EXPECT_EQ(Claim(2, NowMicros() - 1'000'000), "0") << "or an older stream's would count as newer";
}

TEST_F(WriteScriptTest, OnlyTheOwnerWrites) {
  const int64_t now = NowMicros();
  const auto old_epoch = static_cast<uint64_t>(now - 100);
  const auto new_epoch = static_cast<uint64_t>(now);
  Claim(1, now - 100);
  EXPECT_EQ(Write(1, old_epoch, 40), std::to_string(old_epoch));
  Claim(2, now);
  EXPECT_EQ(Write(1, old_epoch, 41), "0");
  EXPECT_EQ(Value(), 40);
  EXPECT_EQ(Write(2, new_epoch, 2), std::to_string(new_epoch));
  EXPECT_EQ(Write(9, new_epoch, 99), "0") << "the same epoch of another owner";
  EXPECT_EQ(Value(), 2);
}

TEST_F(WriteScriptTest, AnyWriteIsTakenWhereTheRecordIsLostAndTheNewerStreamWinsInTheEnd) {
  EXPECT_EQ(Write(1, 100, 40), "100");
  EXPECT_EQ(Write(2, 200, 2), "200");
  EXPECT_EQ(Write(1, 100, 41), "0");
  EXPECT_EQ(Value(), 2);
}

TEST_F(WriteScriptTest, AfterAReleaseAnOlderStreamTakesOverWithWhatIsNewer) {
  Write(1, 100, 40, seconds(9));
  Write(2, 200, 2, seconds(5));
  EXPECT_EQ(Release(2, 200), "200");
  EXPECT_TRUE(Get().released);
  EXPECT_EQ(Write(1, 100, 39, seconds(1)), "0") << "received before the release";
  EXPECT_EQ(Value(), 2);
  EXPECT_EQ(Write(1, 100, 41), "100");
  EXPECT_EQ(Value(), 41);
  EXPECT_FALSE(Get().released);
}

TEST_F(WriteScriptTest, ReleaseOfAnotherStreamChangesNothing) {
  Write(2, 200, 2);
  EXPECT_EQ(Release(1, 100), "0");
  EXPECT_FALSE(Get().released);
}

TEST_F(WriteScriptTest, DelayedWriteOfTheSameStreamDoesNotReplaceANewerOne) {
  Write(1, 100, 7, milliseconds(0));
  EXPECT_EQ(Write(1, 100, 6, seconds(3)), "100");
  EXPECT_EQ(Value(), 7);
}

TEST_F(WriteScriptTest, WhatIsAheadOfAClockThatWasSetBackIsReplaced) {
  Write(1, 100, 7, -hours(1));
  Write(1, 100, 8, milliseconds(0));
  EXPECT_EQ(Value(), 8);
  EXPECT_LE(Get().heartbeat, Ago(milliseconds(0)));
}

TEST_F(WriteScriptTest, AbsentMetricsKeepTheirValueAndAge) {
  Write(1, 100, 7, seconds(3));
  const StoredTime at = Get().samples[0].at;
  Operation other{.record = {.epoch = 100, .owner = 1, .heartbeat = Ago({})}};
  other.record.samples[1] = {other.record.heartbeat, metric::Quantity::FromMilli(3000)};
  Apply(other);
  EXPECT_EQ(Value(), 7);
  EXPECT_EQ(Get().samples[0].at, at);
  EXPECT_EQ(Get().samples[1].value.milli(), 3000);
}

TEST_F(WriteScriptTest, LivesForTheTtlOfItsHeartbeat) {
  Write(1, 100, 7, seconds(15));
  EXPECT_LE(std::stoi(server->Do({"PTTL", "k"})), 6000);
  EXPECT_GE(std::stoi(server->Do({"PTTL", "k"})), 5000);
  EXPECT_EQ(Write(1, 100, 7, seconds(30)), "100");
  Write(2, 200, 7, -hours(1));
  EXPECT_LE(std::stoi(server->Do({"PTTL", "k"})), 21000) << "no clock keeps a key for longer";
}

TEST_F(WriteScriptTest, ForeignValuesAndUnknownVersionsAreLeftAlone) {
  server->Do({"SET", "k", "hello"});
  EXPECT_EQ(Write(1, 100, 7), std::to_string(kWriteOnForeign));
  EXPECT_EQ(server->Do({"GET", "k"}), "hello");
  server->Do({"DEL", "k"});
  server->Do({"RPUSH", "k", "x"});
  EXPECT_EQ(Claim(1, 5), std::to_string(kWriteOnForeign));
  for (const int version : {0, kRecordVersion + 2, 255}) {
    server->Do({"SET", "k", FormatRecord({}, "k", static_cast<uint8_t>(version))});
    EXPECT_EQ(Write(1, 100, 7), std::to_string(kWriteOnUnknownVersion)) << version;
  }
}

TEST_F(WriteScriptTest, NextVersionsRecordsKeepTheirOwner) {
  Record next{.released = false, .epoch = 200, .owner = 2};
  next.heartbeat = Ago({});
  server->Do(
      {"SET", "k", FormatRecord(next, "k", kRecordVersion + 1) + "appended by the next version"});
  EXPECT_EQ(Write(1, 100, 40), "0");
  EXPECT_EQ(Write(2, 200, 2), "200");
  EXPECT_EQ(Value(), 2);
}

}  // namespace
}  // namespace activescale::store
