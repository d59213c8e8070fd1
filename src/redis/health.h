#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "redis/link_state.h"

namespace activescale::redis {

/// The state of one connection at the moment it was looked at.
struct NodeHealth {
  std::string name;     // "master 10.0.0.1:6379"
  bool serves = false;  // a master that slots are routed to
  LinkPhase phase = LinkPhase::kIdle;
  base::SteadyTime since;
  std::string reason;
  uint32_t attempts = 0;
};

/// The state of all connections of a client.
struct ClientHealth {
  std::vector<NodeHealth> nodes;
  size_t slots_without_node = 0;  // of a Cluster whose map is known
  std::string problem;            // what keeps the topology from being known; empty if nothing
};

/// What a health check says.
struct HealthSummary {
  bool ok = false;       // at least one master answers
  bool partial = false;  // ok, and at least one does not
  std::string text;      // one line
};

[[nodiscard]] HealthSummary Summarize(const ClientHealth& health, base::SteadyTime now);

}  // namespace activescale::redis
