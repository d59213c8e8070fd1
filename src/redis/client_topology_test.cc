// The client in front of several servers: Cluster and Sentinel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "redis/testing/client_fixture.h"

namespace activescale::redis {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// CLUSTER SLOTS with one range for each node.
std::string Slots(const std::vector<std::tuple<int, int, Address>>& ranges) {
  std::vector<std::string> entries;
  for (const auto& [first, last, node] : ranges) {
    entries.push_back(
        Array({Int(first), Int(last), Array({Bulk(node.host), Int(node.port), Bulk("id")})}));
  }
  return Array(entries);
}

std::string Moved(uint16_t slot, const Address& to) {
  return "-MOVED " + std::to_string(slot) + " " + to.ToString() + "\r\n";
}

class ClusterClientTest : public ClientTest {
 protected:
  void StartCluster() {
    Start(Config{.mode = Mode::kCluster, .addresses = {a_.address()}});
    ASSERT_TRUE(BecomesReady());
    ASSERT_TRUE(Passes([&] { return routes() > 0; }));
  }
  /// `slots` answers CLUSTER SLOTS, `get` answers GET; both may be changed under way.
  void Script(FakeRedis& node, const std::function<std::string()>& get) {
    node.SetScript([this, get](const FakeRedis::Args& args) -> std::optional<std::string> {
      if (args[0] == "CLUSTER") {
        base::MutexLock lock(mutex_);
        return slots_;
      }
      if (args[0] == "GET") return get();
      return std::nullopt;
    });
  }
  void SetSlots(std::string slots) {
    base::MutexLock lock(mutex_);
    slots_ = std::move(slots);
  }

  std::string slots_;
  FakeRedis a_;
  FakeRedis b_;
};

TEST_F(ClusterClientTest, MovedIsFollowedAndLearnt) {
  SetSlots(Slots({{0, 16383, a_.address()}}));
  Script(a_, [this] { return Moved(kSlot, b_.address()); });
  Script(b_, [] { return "$1\r\nb\r\n"; });
  StartCluster();
  SetSlots(Slots({{0, 99, a_.address()}, {100, 16383, b_.address()}}));
  EXPECT_EQ(AskGet(), "b");
  const int asked_a = a_.Count("GET");
  EXPECT_EQ(AskGet(), "b");
  EXPECT_EQ(a_.Count("GET"), asked_a) << "learnt";
}

TEST_F(ClusterClientTest, AskIsFollowedOnceWithAsking) {
  SetSlots(Slots({{0, 16383, a_.address()}}));
  Script(a_, [this] { return "-ASK 100 " + b_.address().ToString() + "\r\n"; });
  Script(b_, [] { return "$1\r\nb\r\n"; });
  StartCluster();
  EXPECT_EQ(AskGet(), "b");
  EXPECT_EQ(AskGet(), "b");
  EXPECT_EQ(a_.Count("GET"), 2) << "not learnt";
  const auto commands = b_.commands();
  for (size_t i = 0; i < commands.size(); ++i) {
    if (commands[i][0] == "GET") {
      EXPECT_EQ(commands[i - 1][0], "ASKING");
    }
  }
}

TEST_F(ClusterClientTest, RedirectsInACircleEnd) {
  SetSlots(Slots({{0, 16383, a_.address()}}));
  Script(a_, [this] { return Moved(kSlot, b_.address()); });
  Script(b_, [this] { return Moved(kSlot, a_.address()); });
  StartCluster();
  EXPECT_THAT(AskGet(), HasSubstr("MOVED"));
}

TEST_F(ClusterClientTest, AFailoverIsFoundByAsking) {
  SetSlots(Slots({{0, 8191, a_.address()}, {8192, 16383, b_.address()}}));
  Script(a_, [] { return "$1\r\na\r\n"; });
  Script(b_, [] { return "$1\r\nb\r\n"; });
  StartCluster();
  ASSERT_TRUE(Passes([&] { return client_->Check().text == "2 of 2 masters ready"; }));
  EXPECT_EQ(AskGet(), "a");
  SetSlots(Slots({{0, 16383, b_.address()}}));
  const size_t before = routes();
  a_.StopListening();
  ASSERT_TRUE(Passes([&] { return routes() > before; }));
  EXPECT_EQ(AskGet(), "b");
  EXPECT_EQ(client_->stats().failovers, 1u);
  base::MutexLock lock(mutex_);
  EXPECT_EQ(routes_.back().count(), 8192u) << "only the slots that went to another node";
}

TEST_F(ClusterClientTest, AStoppedShardIsPartialAndFailsAtOnce) {
  SetSlots(Slots({{0, 8191, a_.address()}, {8192, 16383, b_.address()}}));
  Script(a_, [] { return "$1\r\na\r\n"; });
  Script(b_, [] { return "$1\r\nb\r\n"; });
  StartCluster();
  b_.StopListening();
  ASSERT_TRUE(Passes([&] { return client_->Check().partial; }));
  EXPECT_TRUE(client_->Check().ok);
  EXPECT_EQ(AskGet(), "a");
  EXPECT_THAT(client_->Check().text, HasSubstr("1 of 2 masters ready"));
  bool ready = true;
  thread_.Run([&] { ready = client_->Ready(9000); });
  EXPECT_FALSE(ready);
}

TEST_F(ClusterClientTest, AServerWithoutClusterIsNamed) {
  SetSlots("-ERR This instance has cluster support disabled\r\n");
  Script(a_, [] { return "$1\r\na\r\n"; });
  Start(Config{.mode = Mode::kCluster, .addresses = {a_.address()}});
  EXPECT_TRUE(Passes(
      [&] { return client_->Check().text.find("cluster support disabled") != std::string::npos; }));
  EXPECT_FALSE(client_->Check().ok);
}

TEST_F(ClusterClientTest, TryAgainIsForTheCaller) {
  SetSlots(Slots({{0, 16383, a_.address()}}));
  Script(a_, [] { return "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"; });
  StartCluster();
  EXPECT_THAT(AskGet(), StartsWith("TRYAGAIN"));
}

TEST_F(ClusterClientTest, ClusterDownIsAnErrorAndAsksAgain) {
  SetSlots(Slots({{0, 16383, a_.address()}}));
  Script(a_, [] { return "-CLUSTERDOWN The cluster is down\r\n"; });
  StartCluster();
  const uint64_t refreshes = client_->stats().refreshes;
  EXPECT_THAT(AskGet(), HasSubstr("CLUSTERDOWN"));
  EXPECT_TRUE(Passes([&] { return client_->stats().refreshes > refreshes; }));
}

class SentinelClientTest : public ClientTest {
 protected:
  SentinelClientTest() : master_(a_.address()) {
    a_.SetScript(Get("$1\r\na\r\n"));
    b_.SetScript(Get("$1\r\nb\r\n"));
    for (FakeRedis& sentinel : sentinels_) {
      sentinel.SetScript([this](const FakeRedis::Args& args) -> std::optional<std::string> {
        if (args[0] == "SUBSCRIBE") return Array({Bulk("subscribe"), Bulk(args[1]), Int(1)});
        if (args[0] != "SENTINEL") return std::nullopt;
        base::MutexLock lock(mutex_);
        return Array({Bulk(master_.host), Bulk(std::to_string(master_.port))});
      });
    }
  }
  void SetMaster(const Address& master) {
    base::MutexLock lock(mutex_);
    master_ = master;
  }
  void StartSentinel() {
    Config config{.mode = Mode::kSentinel, .sentinel_master = "mymaster"};
    for (const FakeRedis& sentinel : sentinels_) config.addresses.push_back(sentinel.address());
    Start(std::move(config));
    ASSERT_TRUE(BecomesReady());
  }

  FakeRedis a_;
  FakeRedis b_;
  Address master_;
  FakeRedis sentinels_[3];
};

TEST_F(SentinelClientTest, SwitchMasterIsFollowedAtOnce) {
  StartSentinel();
  EXPECT_EQ(AskGet(), "a");
  SetMaster(b_.address());
  ASSERT_TRUE(Passes([&] { return sentinels_[0].Count("SUBSCRIBE") > 0; }));
  sentinels_[0].SendToAll(
      Array({Bulk("message"), Bulk("+switch-master"),
             Bulk("mymaster " + a_.address().host + " " + std::to_string(a_.address().port) + " " +
                  b_.address().host + " " + std::to_string(b_.address().port))}));
  EXPECT_TRUE(Passes([&] { return client_->stats().failovers == 1; }));
  EXPECT_TRUE(BecomesReady());
  EXPECT_EQ(AskGet(), "b");
}

TEST_F(SentinelClientTest, AMissedAnnouncementIsFoundByAsking) {
  StartSentinel();
  SetMaster(b_.address());
  a_.StopListening();
  EXPECT_TRUE(Passes([&] { return client_->stats().failovers == 1; }));
  EXPECT_TRUE(BecomesReady());
  EXPECT_EQ(AskGet(), "b");
}

TEST_F(SentinelClientTest, ADeadSentinelDoesNotMatter) {
  sentinels_[0].StopListening();
  sentinels_[1].SetMute(true);
  StartSentinel();
  EXPECT_EQ(AskGet(), "a");
  EXPECT_THAT(client_->Check().text, HasSubstr("sentinel"));
}

TEST_F(SentinelClientTest, AnUnknownNameIsTold) {
  for (FakeRedis& sentinel : sentinels_) {
    sentinel.SetScript([](const FakeRedis::Args& args) -> std::optional<std::string> {
      if (args[0] == "SENTINEL") return "*-1\r\n";
      if (args[0] == "SUBSCRIBE") return Array({Bulk("subscribe"), Bulk(args[1]), Int(1)});
      return std::nullopt;
    });
  }
  Start(Config{.mode = Mode::kSentinel,
               .addresses = {sentinels_[0].address()},
               .sentinel_master = "mymaster"});
  EXPECT_TRUE(Passes([&] {
    return client_->Check().text.find("no master named \"mymaster\"") != std::string::npos;
  }));
  EXPECT_FALSE(client_->Check().ok);
}

}  // namespace
}  // namespace activescale::redis
