#pragma once

#include <future>
#include <utility>

#include "app/thread.h"
#include "net/http_client.h"

namespace activescale::app {

/// An HTTP client with a thread of its own, for commands that ask and wait.
class HttpLoop {
 public:
  HttpLoop() = default;
  ~HttpLoop() { http_.Stop(); }
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  [[nodiscard]] net::HttpClient& http() { return http_; }

 private:
  net::HttpClient http_;
  Thread thread_{"http", [this] { http_.Run(); }};
};

/// Waits for the T that `start` is to give to its argument, exactly once, on any thread. The
/// client's own limits of time bound the wait.
template <typename T, typename Start>
[[nodiscard]] T Await(Start start) {
  std::promise<T> promise;
  auto answer = promise.get_future();
  start([&promise](T result) { promise.set_value(std::move(result)); });
  return answer.get();
}

}  // namespace activescale::app
