#pragma once

#include <array>
#include <string>

#include "kube/list_watch.h"
#include "telemetry/registry.h"

namespace activescale::kube {

/// What happens on the watches of one resource. Threads: any.
class WatchMetrics {
 public:
  /// `resource` as in a path: "pods".
  WatchMetrics(telemetry::Registry& registry, const std::string& resource);

  void CountList(ListWatch::ListReason reason) { lists_[static_cast<size_t>(reason)]->Increment(); }
  void CountFailure(RequestFailure::Kind kind) {
    failures_[static_cast<size_t>(kind)]->Increment();
  }

  telemetry::Counter& upserts;
  telemetry::Counter& deletions;
  telemetry::Counter& bookmarks;
  telemetry::Counter& unusable;  // objects without a name, events of an unknown type

 private:
  std::array<telemetry::Counter*, 3> lists_;
  std::array<telemetry::Counter*, 4> failures_;
};

}  // namespace activescale::kube
