#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "redis/client.h"

namespace activescale::store {

/// How many streams each replica holds, in one hash that all of them write: "<context>:replicas" of
/// name to "<turn>:<streams>". A replica counts while its turn moves, so that no clocks are
/// compared. For people alone: nothing depends on it, and no failure of it is told.
/// Threads: the client's loop, but for Known.
class ReplicaBoard {
 public:
  static constexpr size_t kMaxReplicas = 1'000;

  struct Options {
    std::string context;  // as RedisStoreOptions
    std::string replica;  // our own name, which differs between replicas
    std::chrono::milliseconds interval{5'000};
    /// A replica that writes nothing for as long is gone.
    std::chrono::milliseconds max_silence{20'000};
    /// And its entry is removed, by whoever sees it.
    std::chrono::milliseconds forgotten{120'000};
  };

  struct Entry {
    std::string replica;
    uint64_t streams = 0;
  };

  /// `streams` tells how many we hold; all of them must outlive this.
  ReplicaBoard(Options options, std::function<uint64_t()> streams, redis::Client& client,
               const base::Clock& clock);

  /// Writes and reads when it is time; to be called at each tick of the client.
  void Tick();

  /// The other replicas, in order of name. Threads: any.
  [[nodiscard]] std::vector<Entry> Known() const;

 private:
  struct Other {
    std::string text;  // as it was last read
    uint64_t streams = 0;
    base::SteadyTime changed;  // when the text did
    bool moved = false;        // since we look
  };

  void Send(std::initializer_list<std::string_view> command, redis::ReplyCallback done);
  void OnRead(base::Result<redis::Answer> answer);

  const Options options_;
  const std::string key_;
  const uint16_t slot_;
  const std::function<uint64_t()> streams_;
  redis::Client& client_;
  const base::Clock& clock_;
  base::SteadyTime next_;
  uint64_t turn_ = 0;

  mutable base::Mutex mutex_;
  std::map<std::string, Other> others_ GUARDED_BY(mutex_);
};

}  // namespace activescale::store
