#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "net/http_client.h"

namespace activescale::kube {

/// An HTTP client whose loop runs on a thread of the test's.
class LoopThread {
 public:
  ~LoopThread() { Stop(); }
  void Stop() {
    http_.Stop();
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] net::HttpClient& http() { return http_; }

 private:
  net::HttpClient http_;
  std::thread thread_{[this] { http_.Run(); }};
};

/// Waits until `holds`, 20 s at most; whether it does.
[[nodiscard]] inline bool Eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace activescale::kube
