#include "net/io_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace activescale::net {
namespace {

TEST(IoLoopTest, RunsPostedWorkInOrderOnItsOwnThread) {
  IoLoop loop;
  std::vector<int> order;
  loop.Post([&] { order.push_back(1); });
  loop.Post([&] {
    order.push_back(loop.OnLoopThread() ? 2 : -2);
    loop.Stop();
  });
  std::thread thread([&] { loop.Run(); });
  thread.join();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_FALSE(loop.OnLoopThread());
}

TEST(IoLoopTest, StopBeforeRunMakesRunReturnAtOnce) {
  IoLoop loop;
  loop.Stop();
  loop.Run();
}

TEST(IoLoopTest, TicksUntilTheTickerIsGone) {
  IoLoop loop;
  std::promise<void> three;
  int ticks = 0;
  auto ticker = loop.Every(std::chrono::milliseconds(1), [&] {
    if (++ticks == 3) three.set_value();
  });
  std::thread thread([&] { loop.Run(); });
  three.get_future().wait();
  ticker = IoLoop::Ticker();
  const int after = ticks;  // no data race: the destructor waited for a tick that was running
  std::promise<void> later;
  auto other = loop.Every(std::chrono::milliseconds(5), [&, first = true]() mutable {
    if (std::exchange(first, false)) later.set_value();
  });
  later.get_future().wait();
  EXPECT_EQ(ticks, after);
  loop.Stop();
  thread.join();
}

TEST(IoLoopTest, RepeatsAfterWhatTheTickSays) {
  IoLoop loop;
  std::vector<std::chrono::steady_clock::time_point> at;
  const auto ticker = loop.Repeat([&]() -> std::chrono::nanoseconds {
    at.push_back(std::chrono::steady_clock::now());
    if (at.size() == 3) loop.Stop();
    return std::chrono::milliseconds(at.size() == 1 ? 0 : 20);
  });
  std::thread thread([&] { loop.Run(); });
  thread.join();
  ASSERT_EQ(at.size(), 3U);
  EXPECT_GE(at[2] - at[1], std::chrono::milliseconds(20));
}

TEST(IoLoopTest, WorkThatWasNeverRunIsDestroyedWithTheLoop) {
  auto token = std::make_shared<int>(1);
  {
    IoLoop loop;
    loop.Post([token] { FAIL(); });
  }
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace activescale::net
