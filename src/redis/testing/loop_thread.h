#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "net/io_loop.h"

namespace activescale::redis {

/// An IoLoop with a thread, for tests. Declare it before what runs on it, and call Stop before that
/// is destroyed.
class LoopThread {
 public:
  LoopThread() : thread_([this] { loop_.Run(); }) {}
  ~LoopThread() { Stop(); }

  [[nodiscard]] net::IoLoop& loop() { return loop_; }

  void Stop() {
    if (!thread_.joinable()) return;
    loop_.Stop();
    thread_.join();
  }

  /// Runs `work` on the loop and waits for its end.
  void Run(std::move_only_function<void()> work) {
    std::promise<void> done;
    loop_.Post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

 private:
  net::IoLoop loop_;
  std::thread thread_;
};

/// Waits until `condition` holds; false if it does not within `limit`.
inline bool Eventually(const std::function<bool()>& condition,
                       std::chrono::milliseconds limit = std::chrono::seconds(10)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace activescale::redis
