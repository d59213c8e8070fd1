// Slots, redirects, error kinds and Sentinel's answers: what a topology decides by, without I/O.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/reply_error.h"
#include "redis/resp.h"
#include "redis/sentinel.h"
#include "redis/slots.h"
#include "redis/testing/fake_redis.h"

namespace activescale::redis {
namespace {

using testing::HasSubstr;

const Address kAsked{"10.0.0.9", 7000};

Reply Parse(const std::string& wire) {
  ReplyReader reader;
  EXPECT_TRUE(reader.Feed(wire));
  auto reply = reader.Next();
  EXPECT_TRUE(reply && *reply);
  return **reply;
}

std::string Integer(int value) { return ":" + std::to_string(value) + "\r\n"; }

// Source: Redis Cluster specification; CRC16's check value is of "123456789".
TEST(SlotsTest, KeySlotIsOfTheHashTag) {
  EXPECT_EQ(Crc16("123456789"), 0x31c3);
  EXPECT_EQ(KeySlot("foo"), 12182);
  EXPECT_EQ(KeySlot("{user1000}.following"), KeySlot("user1000"));
  EXPECT_EQ(KeySlot("x{user1000}.followers"), KeySlot("user1000"));
  EXPECT_EQ(KeySlot("foo{}{bar}"), Crc16("foo{}{bar}") % kSlotCount);
  EXPECT_EQ(KeySlot("foo{{bar}}zap"), KeySlot("{bar"));
  EXPECT_EQ(KeySlot("foo{bar}{zap}"), KeySlot("bar"));
  EXPECT_EQ(KeySlot(""), 0);
}

TEST(SlotsTest, ReadsMastersAndSkipsReplicas) {
  const auto node = [](const std::string& host, int port) {
    return Array({Bulk(host), Integer(port), Bulk("id"), Array({})});
  };
  const auto map = SlotMap::Parse(
      Parse(Array({Array({Integer(0), Integer(8191), node("10.0.0.1", 7000), node("r", 7003)}),
                   Array({Integer(8192), Integer(16382), node("", 7001)})})),
      kAsked);
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->masters(), (std::vector<Address>{{"10.0.0.1", 7000}, {"10.0.0.9", 7001}}));
  EXPECT_EQ(*map->Owner(0), (Address{"10.0.0.1", 7000}));
  EXPECT_EQ(*map->Owner(8192), (Address{"10.0.0.9", 7001}));
  EXPECT_EQ(map->Owner(16383), nullptr);
  EXPECT_EQ(map->unowned(), 1u);
  EXPECT_EQ(map->SlotsOf({"10.0.0.1", 7000}).count(), 8192u);
}

TEST(SlotsTest, RefusesOtherForms) {
  const std::string cases[] = {
      "+OK\r\n",
      Array({Integer(1)}),
      Array({Array({Integer(0), Integer(5)})}),
      Array({Array({Integer(0), Integer(16384), Array({Bulk("h"), Integer(1)})})}),
      Array({Array({Integer(5), Integer(4), Array({Bulk("h"), Integer(1)})})}),
      Array({Array({Integer(0), Integer(1), Array({Bulk("h")})})}),
      Array({Array({Integer(0), Integer(1), Array({Bulk("h"), Integer(70000)})})}),
  };
  for (const std::string& wire : cases) EXPECT_FALSE(SlotMap::Parse(Parse(wire), kAsked)) << wire;
}

TEST(RedirectTest, ReadsTargetsOfAllForms) {
  const auto v4 = ParseRedirect("MOVED 3999 127.0.0.1:6381", kAsked);
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->slot, 3999);
  EXPECT_EQ(v4->target, (Address{"127.0.0.1", 6381}));
  EXPECT_EQ(ParseRedirect("ASK 1 ::1:6381", kAsked)->target, (Address{"::1", 6381}));
  EXPECT_EQ(ParseRedirect("MOVED 1 :6381", kAsked)->target, (Address{"10.0.0.9", 6381}));
  for (const char* text : {"MOVED", "MOVED 1", "MOVED x a:1", "MOVED 16384 a:1", "MOVED 1 a",
                           "MOVED 1 a:x", "MOVED -1 a:1"}) {
    EXPECT_FALSE(ParseRedirect(text, kAsked)) << text;
  }
}

TEST(ReplyErrorTest, EachKindIsWhatItIs) {
  const struct {
    const char* text;
    ErrorKind kind;
    const char* advice;
  } cases[] = {
      {"MOVED 1 a:1", ErrorKind::kMoved, "REDIS_CLUSTER"},
      {"READONLY You can't write against a read only replica.", ErrorKind::kReadOnly, "replica"},
      {"LOADING Redis is loading the dataset in memory", ErrorKind::kLoading, "passes"},
      {"MASTERDOWN Link with MASTER is down", ErrorKind::kMasterDown, "lost its master"},
      {"NOAUTH Authentication required.", ErrorKind::kNoAuth, "REDIS_PASSWORD"},
      {"WRONGPASS invalid username-password pair", ErrorKind::kWrongPass, "REDIS_USERNAME"},
      {"ERR invalid password", ErrorKind::kWrongPass, ""},
      {"NOPERM this user has no permissions", ErrorKind::kNoPerm, "docs/store.md"},
      {"OOM command not allowed when used memory > 'maxmemory'.", ErrorKind::kOutOfMemory,
       "maxmemory"},
      {"BUSY Redis is busy running a script.", ErrorKind::kBusy, "script"},
      {"NOSCRIPT No matching script.", ErrorKind::kNoScript, ""},
      {"WRONGTYPE Operation against a key", ErrorKind::kWrongType, "prefix"},
      {"CLUSTERDOWN Hash slot not served", ErrorKind::kClusterDown, "redis-cli"},
      {"TRYAGAIN Multiple keys request during rehashing", ErrorKind::kTryAgain, ""},
      {"MISCONF Errors writing to the AOF file", ErrorKind::kNotDurable, "disk"},
      {"ERR something", ErrorKind::kOther, "something"},
      {"READONLYISH", ErrorKind::kOther, ""},
      {"", ErrorKind::kOther, ""},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Classify(c.text), c.kind) << c.text;
    EXPECT_THAT(Explain(c.text), HasSubstr(c.advice));
  }
}

TEST(SentinelTest, ReadsTheMasterAndItsChange) {
  const auto known = ParseMasterAddress(Parse(Array({Bulk("10.0.0.1"), Bulk("6379")})), "m");
  ASSERT_TRUE(known);
  EXPECT_EQ(*known, (Address{"10.0.0.1", 6379}));
  const auto unknown = ParseMasterAddress(Parse("*-1\r\n"), "mymaster");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("\"mymaster\""));
  EXPECT_FALSE(ParseMasterAddress(Parse("+OK\r\n"), "m"));
  EXPECT_FALSE(ParseMasterAddress(Parse(Array({Bulk("h"), Bulk("x")})), "m"));

  const auto event = [](const std::string& channel, const std::string& text) {
    return Parse(Array({Bulk("message"), Bulk(channel), Bulk(text)}));
  };
  EXPECT_EQ(ParseSwitchMaster(event("+switch-master", "m 10.0.0.1 1 10.0.0.2 2"), "m"),
            (Address{"10.0.0.2", 2}));
  EXPECT_FALSE(ParseSwitchMaster(event("+switch-master", "other 10.0.0.1 1 10.0.0.2 2"), "m"));
  EXPECT_FALSE(ParseSwitchMaster(event("+sdown", "m 10.0.0.1 1 10.0.0.2 2"), "m"));
  EXPECT_FALSE(ParseSwitchMaster(event("+switch-master", "m 10.0.0.1"), "m"));
}

TEST(SentinelTest, OnlyAMasterWillDo) {
  EXPECT_TRUE(RequireMaster(Parse(Array({Bulk("master"), Integer(0), Array({})}))));
  EXPECT_TRUE(RequireMaster(Parse("-NOPERM no permissions to run the 'role' command\r\n")));
  const struct {
    std::string wire;
    const char* want;
  } cases[] = {
      {Array({Bulk("slave"), Bulk("10.0.0.1"), Integer(6379), Bulk("connected"), Integer(0)}),
       "replica of 10.0.0.1:6379"},
      {Array({Bulk("sentinel"), Array({})}), "REDIS_SENTINEL_MASTER"},
      {"*0\r\n", "does not say"},
      {"-ERR unknown command 'ROLE'\r\n", "unknown command"},
  };
  for (const auto& c : cases) {
    const auto role = RequireMaster(Parse(c.wire));
    ASSERT_FALSE(role) << c.wire;
    EXPECT_THAT(role.error().message, HasSubstr(c.want));
  }
}

}  // namespace
}  // namespace activescale::redis
