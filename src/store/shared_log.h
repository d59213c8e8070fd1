#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace activescale::store {

/// What replicas that share a store tell each other besides what the store keeps of pods. An entry
/// reaches every other replica that runs, within some tens of milliseconds, in the order of each
/// sender; one that starts gets those of the last minute first. Entries may come twice, and those
/// of a time in which the store is away longer than the queue holds are lost and counted.
class SharedLog {
 public:
  static constexpr size_t kMaxEntryBytes = size_t{1} << 20;

  virtual ~SharedLog() = default;

  /// Queues `entry`, of at most kMaxEntryBytes. Never blocks. False: the queue is full and the
  /// entry was dropped and counted. Threads: any.
  virtual bool Append(std::string entry) = 0;

  /// Takes an entry, which is valid during the call, and when it was written, on our clock.
  using Reader = std::function<void(std::string_view entry, base::SteadyTime written)>;
  /// Gives other replicas' entries to `reader`, on the store's thread; it must not block. Call
  /// once, before the store's thread runs.
  virtual void Read(Reader reader) = 0;
};

}  // namespace activescale::store
