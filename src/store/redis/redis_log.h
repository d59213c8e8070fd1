#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/warning_gate.h"
#include "redis/client.h"
#include "redis/script.h"
#include "redis/server_clock.h"
#include "store/redis/record.h"
#include "store/shared_log.h"
#include "telemetry/registry.h"

namespace activescale::store {

/// A SharedLog in one stream of Redis, "<context>:{log}", which keeps the last two minutes. What is
/// queued goes out in one command at a time; what others wrote is asked for each kReadInterval. An
/// idle log costs those questions alone. Nothing at all happens without a reader.
/// Source: redis.io/docs/data-types/streams. Threads: Tick the loop's; the rest any.
class RedisLog final : public SharedLog {
 public:
  struct Options {
    std::string context;  // prefix of the key
    uint64_t replica;     // names this process: another number on each replica
    size_t max_queued_bytes = size_t{8} << 20;
  };
  static constexpr std::chrono::milliseconds kReadInterval{25};

  /// All of them must outlive it.
  RedisLog(Options options, redis::Client& client, const base::Clock& clock,
           telemetry::Registry& registry);

  bool Append(std::string entry) override EXCLUDES(mutex_);
  void Read(Reader reader) override { reader_ = std::move(reader); }

  /// Sends and asks what is due. To be called each few milliseconds.
  void Tick();

 private:
  void Write() EXCLUDES(mutex_);
  void OnWritten(const base::Result<redis::Answer>& answer) EXCLUDES(mutex_);
  void Ask();
  void OnEntries(const base::Result<redis::Answer>& answer);
  /// One entry of the stream: its id, and pairs of the writer's name and what it wrote.
  bool Take(const redis::Reply& entry, const redis::ServerClock& clock);
  void Complain(std::string_view what, const std::string& why);

  const Options options_;
  redis::Client& client_;
  const base::Clock& clock_;
  const redis::Script append_;
  const std::string name_;  // of this replica, as entries carry it
  const RecordKey key_;
  telemetry::Counter& written_;
  telemetry::Counter& read_;
  telemetry::Counter& dropped_;
  telemetry::Counter& failures_;
  base::WarningGate warning_;
  Reader reader_;

  base::Mutex mutex_;
  std::deque<std::string> queue_ GUARDED_BY(mutex_);
  size_t queued_bytes_ GUARDED_BY(mutex_) = 0;

  // Of the loop alone.
  std::vector<std::string> writing_;  // under way, or to be sent again; empty: none
  bool write_under_way_ = false;
  base::SteadyTime next_write_ = base::SteadyTime::min();
  bool read_under_way_ = false;
  base::SteadyTime next_read_ = base::SteadyTime::min();
  std::string last_id_;  // of the entries that were read; "" before the first question
};

}  // namespace activescale::store
