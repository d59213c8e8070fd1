#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "base/testing/fake_clock.h"
#include "net/http_server.h"
#include "net/io_loop.h"

namespace activescale::net {

/// A handler made of a function.
class FunctionHandler final : public HttpHandler {
 public:
  using Function = std::function<void(const HttpRequest&, HttpResponder)>;
  explicit FunctionHandler(Function function) : function_(std::move(function)) {}
  void Handle(HttpRequest request, HttpResponder respond) override {
    function_(request, std::move(respond));
  }

 private:
  Function function_;
};

/// A server on a free port with its loop on a thread, for as long as it lives. Time stands still
/// until a test moves `clock`; the deadlines are looked at each few milliseconds.
class RunningServer {
 public:
  RunningServer(HttpHandler& handler, HttpServerOptions options) {
    options.limits.sweep_interval = std::chrono::milliseconds(2);
    options.observe = [this](ConnectionEvent event) { ++events_[static_cast<size_t>(event)]; };
    auto listening = HttpServer::Listen(loop, std::move(options), handler, clock);
    EXPECT_TRUE(listening.has_value()) << listening.error().message;
    server = *std::move(listening);
    thread_ = std::thread([this] { loop.Run(); });
  }
  ~RunningServer() {
    server.reset();
    loop.Stop();
    thread_.join();
  }

  [[nodiscard]] int Count(ConnectionEvent event) const {
    return events_[static_cast<size_t>(event)];
  }
  /// Waits until an event was seen that often: the server tells it a moment after the client can
  /// see its effect.
  [[nodiscard]] bool WaitFor(ConnectionEvent event, int times) const {
    for (int i = 0; i < 5000 && Count(event) < times; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return Count(event) == times;
  }

  /// Moves the clock a second at a time until an event was seen; false if it does not come.
  [[nodiscard]] bool AdvanceUntil(ConnectionEvent event) {
    for (int i = 0; i < 5000 && Count(event) == 0; ++i) {
      clock.Advance(std::chrono::seconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return Count(event) > 0;
  }

  base::FakeClock clock;
  IoLoop loop;
  std::unique_ptr<HttpServer> server;

 private:
  std::array<std::atomic<int>, kConnectionEventCount> events_{};
  std::thread thread_;
};

}  // namespace activescale::net
