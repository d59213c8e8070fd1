#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace activescale::app {

/// Whether a replica without its store stays in the Service, at one moment. `ready` are the names,
/// in order, of the pods that the Service shows as ready, `self` among them or not; `waits`: the
/// others may have lost the store too and not have left yet.
[[nodiscard]] bool StaysInService(std::string_view self, const std::vector<std::string>& ready,
                                  bool waits);

/// The rule of `--readiness-on-store-outage=last`, over time. A replica without its store leaves
/// only while it sees another one ready, so a fault that all share never empties the Service for
/// long. The higher-named leave at once. The lowest-named waits for them: if one is still ready
/// after kOthersLeaveWithin, that one has the store, and the lowest-named leaves too. A replica
/// that never had its store does not wait, so that a rollout with a wrong password stops at its
/// first pod. Threads: any. Trade-offs: docs/adr/20261130-the-last-replica-waits-for-the-others.md.
class LastReplica {
 public:
  /// More than it takes until the others' probes (every 2 s, of which two must fail) and the
  /// EndpointSlices show that they lost the store too.
  static constexpr std::chrono::seconds kOthersLeaveWithin{15};

  /// Without a name of its own a replica cannot tell itself from the others, and stays.
  explicit LastReplica(std::string self) : self_(std::move(self)) {}

  /// The store is there.
  void OnStoreReady();
  /// The store is away: whether to be ready. `ready` as above, or nothing while the Service is not
  /// known; then it is as it was.
  [[nodiscard]] bool Stays(const std::optional<std::vector<std::string>>& ready,
                           base::SteadyTime now);

 private:
  const std::string self_;
  base::Mutex mutex_;
  bool stays_ GUARDED_BY(mutex_) = false;
  std::chrono::seconds patience_ GUARDED_BY(mutex_){0};
  // Since when, without a break, another one was ready while the store is away.
  std::optional<base::SteadyTime> others_since_ GUARDED_BY(mutex_);
};

}  // namespace activescale::app
