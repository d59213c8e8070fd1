#include "store/redis/replica_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "redis/testing/loop_thread.h"
#include "redis/testing/redis_server.h"

namespace activescale::store {
namespace {

using redis::Eventually;
using std::chrono::milliseconds;

/// A replica's board with a client and a loop of its own, in real time.
class Board {
 public:
  Board(const redis::RedisServer& server, const std::string& replica, uint64_t streams)
      : streams_(streams),
        client_(thread_.loop(), clock_, redis::Config{.addresses = {server.address()}}, streams),
        board_(
            {.context = "test",
             .replica = replica,
             .interval = milliseconds(10),
             .max_silence = milliseconds(400),
             .forgotten = milliseconds(600)},
            [this] { return streams_.load(); }, client_, clock_) {
    client_.Start(
        {.on_routes_ready = [](const redis::SlotSet&) {}, .on_tick = [this] { board_.Tick(); }});
  }
  ~Board() { thread_.Stop(); }

  void Set(uint64_t streams) { streams_ = streams; }
  /// "a=1 b=2"
  [[nodiscard]] std::string Known() const {
    std::string text;
    for (const auto& entry : board_.Known()) {
      if (!text.empty()) text += ' ';
      text += entry.replica + '=' + std::to_string(entry.streams);
    }
    return text;
  }
  [[nodiscard]] bool Sees(const std::string& text) const {
    return Eventually([&] { return Known() == text; });
  }

 private:
  base::SystemClock clock_;
  std::atomic<uint64_t> streams_;
  redis::LoopThread thread_;
  redis::Client client_;
  ReplicaBoard board_;
};

TEST(ReplicaBoardTest, EachReplicaSeesTheStreamsOfTheOthers) {
  redis::RedisServer server;
  Board a(server, "a", 3);
  Board b(server, "b", 5);
  EXPECT_TRUE(a.Sees("b=5")) << a.Known();
  EXPECT_TRUE(b.Sees("a=3")) << b.Known();
  b.Set(6);
  EXPECT_TRUE(a.Sees("b=6")) << a.Known();
  Board c(server, "c", 0);
  EXPECT_TRUE(a.Sees("b=6 c=0")) << a.Known();
}

TEST(ReplicaBoardTest, AReplicaThatWentIsNotShownAndItsEntryIsRemoved) {
  redis::RedisServer server;
  Board a(server, "a", 3);
  {
    const Board b(server, "b", 5);
    EXPECT_TRUE(a.Sees("b=5"));
  }
  EXPECT_TRUE(a.Sees("")) << a.Known();
  // Who comes later finds an entry that does not move.
  server.Do({"HSET", "test:replicas", "left", "7:9", "foreign", "something else"});
  Board late(server, "late", 1);
  EXPECT_TRUE(late.Sees("a=3"));
  EXPECT_TRUE(a.Sees("late=1")) << "neither `left` nor `foreign` is a replica";
  EXPECT_TRUE(Eventually([&] { return server.Do({"HEXISTS", "test:replicas", "left"}) == "0"; }));
  EXPECT_EQ(server.Do({"HEXISTS", "test:replicas", "foreign"}), "1");
}

TEST(ReplicaBoardTest, NothingIsKnownWithoutAServer) {
  auto server = std::make_unique<redis::RedisServer>();
  Board a(*server, "a", 3);
  Board b(*server, "b", 5);
  EXPECT_TRUE(a.Sees("b=5"));
  server.reset();
  EXPECT_TRUE(a.Sees(""));
}

}  // namespace
}  // namespace activescale::store
