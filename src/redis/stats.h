#pragma once

#include <atomic>
#include <cstdint>

namespace activescale::redis {

/// What the client counts; read by whoever publishes it. Threads: any.
struct Stats {
  std::atomic<uint64_t> commands{0};         // sent for a caller
  std::atomic<uint64_t> retries{0};          // sent again: redirect, lost connection, TRYAGAIN
  std::atomic<uint64_t> redirects{0};        // MOVED and ASK
  std::atomic<uint64_t> timeouts{0};         // commands without an answer in their time
  std::atomic<uint64_t> attempts{0};         // to connect
  std::atomic<uint64_t> failed_attempts{0};  // of those, without success
  std::atomic<uint64_t> lost{0};             // ready connections that broke
  std::atomic<uint64_t> failovers{0};        // another master for the same slots
  std::atomic<uint64_t> refreshes{0};        // questions for the topology
  std::atomic<int64_t> in_flight{0};         // commands that wait for an answer now
};

}  // namespace activescale::redis
