#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/testing/fake_clock.h"
#include "redis/client.h"
#include "redis/testing/fake_redis.h"
#include "redis/testing/loop_thread.h"

namespace activescale::redis {

inline constexpr uint16_t kSlot = 100;

inline std::string Int(int64_t value) { return ":" + std::to_string(value) + "\r\n"; }

/// Time moves only while a test waits: 5 ms for each real millisecond.
class ClientTest : public testing::Test {
 protected:
  ~ClientTest() override { thread_.Stop(); }

  void Make(Config config) {
    client_ = std::make_unique<Client>(thread_.loop(), clock_, std::move(config), 1);
  }
  void Start(Config config) {
    Make(std::move(config));
    client_->Start({.on_routes_ready = [this](const SlotSet& slots) {
      base::MutexLock lock(mutex_);
      routes_.push_back(slots);
    }});
  }
  void Start(const FakeRedis& server) { Start(Config{.addresses = {server.address()}}); }

  bool Passes(const std::function<bool()>& condition) {
    return Eventually([&] {
      if (condition()) return true;
      clock_.Advance(std::chrono::milliseconds(5));
      return false;
    });
  }
  bool BecomesReady() {
    return Passes([&] { return client_->Check().ok; });
  }
  /// Waits for the outcome of one command: the reply's text or the error's message.
  std::string Ask(std::string wire,
                  std::chrono::milliseconds timeout = std::chrono::milliseconds(400)) {
    std::promise<std::string> outcome;
    auto future = outcome.get_future();
    thread_.Run([&] {
      client_->Send(kSlot, std::move(wire), timeout, [&](base::Result<Answer> answer) {
        outcome.set_value(answer ? answer->reply.text : "error: " + answer.error().message);
      });
    });
    EXPECT_TRUE(Passes(
        [&] { return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
    return future.get();
  }
  std::string AskGet() { return Ask(FormatCommand({"GET", "k"})); }
  size_t routes() {
    base::MutexLock lock(mutex_);
    return routes_.size();
  }

  static FakeRedis::Script Get(const std::string& reply) {
    return [reply](const FakeRedis::Args& args) -> std::optional<std::string> {
      if (args[0] == "GET") return reply;
      return std::nullopt;
    };
  }

  base::FakeClock clock_;
  base::Mutex mutex_;
  std::vector<SlotSet> routes_;
  LoopThread thread_;
  std::unique_ptr<Client> client_;
};

}  // namespace activescale::redis
