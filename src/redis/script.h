#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "redis/client.h"

namespace activescale::redis {

/// A Lua script that is run by its SHA, and sent whole only to a server that does not know it.
/// Immutable; must outlive its runs. Threads: as Client::Send.
class Script {
 public:
  explicit Script(std::string_view source);

  /// Runs it on the master of `slot`, which all `keys` must be in. `done` gets the script's reply.
  /// Errors: as Client::Send.
  void Run(Client& client, uint16_t slot, std::span<const std::string_view> keys,
           std::span<const std::string_view> args, std::chrono::milliseconds timeout,
           ReplyCallback done) const;

  /// The SHA-1 of the source in hex, as SCRIPT LOAD gives it.
  [[nodiscard]] const std::string& sha() const { return sha_; }

 private:
  std::string sha_;
  std::string by_sha_;     // how a command begins after its count of words, in RESP
  std::string by_source_;  // what to put there for a server that does not know the SHA
};

}  // namespace activescale::redis
