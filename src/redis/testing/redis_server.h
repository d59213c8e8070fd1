#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "redis/address.h"

namespace activescale::redis {

/// A real redis-server (or the program that REDIS_SERVER names) on loopback, in a folder of its
/// own, without persistence: it is empty after each start. Gone with the object.
class RedisServer {
 public:
  /// False if there is no such program; tests then skip, visibly.
  [[nodiscard]] static bool Available();

  /// Starts on a free port and waits until it answers; aborts the test program if it does not.
  explicit RedisServer(std::vector<std::string> options = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  [[nodiscard]] Address address() const { return {"127.0.0.1", port_}; }

  /// kill -9.
  void Kill();
  /// After Kill: on the same port.
  void Start();
  /// SIGSTOP: the connections stay, nothing answers.
  void Freeze();
  void Thaw();

  /// Sends one command and waits for the answer, as a line: nil, a number, a text, an error, or an
  /// array's elements with spaces between.
  std::string Do(const std::vector<std::string>& args) const;
  /// How often the server ran a command since it started.
  [[nodiscard]] uint64_t Calls(const std::string& command) const;

 private:
  bool Launch();

  std::vector<std::string> options_;
  std::string folder_;
  uint16_t port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace activescale::redis
