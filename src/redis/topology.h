#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "redis/address.h"
#include "redis/connection.h"
#include "redis/health.h"
#include "redis/slots.h"

namespace activescale::redis {

/// Told by a topology, on the loop's thread.
class TopologyListener {
 public:
  virtual ~TopologyListener() = default;
  /// These slots can be reached now and could not before, or are another node's now: what was sent
  /// for them may be lost.
  virtual void OnRoutesReady(const SlotSet& slots) = 0;
  /// Describe would say something new.
  virtual void OnHealthChange() = 0;
};

/// Knows which connection serves which slot, for one way to run Redis. Threads: the loop's.
class Topology {
 public:
  virtual ~Topology() = default;

  /// Drives its connections and its own questions; called each few tens of milliseconds.
  virtual void Tick(base::SteadyTime now) = 0;
  /// Asks connections that are not ready for an attempt now.
  virtual void Nudge(base::SteadyTime now) = 0;

  /// The connection that serves `slot`, ready or not; null if none is known. Valid until Tick.
  [[nodiscard]] virtual Connection* Route(uint16_t slot) = 0;
  /// A reply said that `target` serves `slot`. Null if there are no redirects in this topology.
  /// `moved` says so for good, else only for this once. Valid until Tick.
  virtual Connection* Follow(uint16_t slot, const Address& target, bool moved) = 0;
  /// A reply or a lost connection casts doubt on what is known: ask again soon.
  virtual void Suspect() = 0;

  virtual void Describe(ClientHealth& health) const = 0;
};

/// One server.
[[nodiscard]] std::unique_ptr<Topology> MakeStandalone(Environment& environment,
                                                       TopologyListener& listener);

/// The master that Sentinels name. Every Sentinel is subscribed to and, while there is no ready
/// master, asked at most each 250 ms; the address most of them give counts.
/// Source: redis.io/docs/latest/develop/reference/sentinel-clients.
[[nodiscard]] std::unique_ptr<Topology> MakeSentinel(Environment& environment,
                                                     TopologyListener& listener);

/// The masters of a Cluster. The map is asked for at the start, after MOVED and CLUSTERDOWN, while
/// a master cannot be reached, and each 30 s; one question at a time, at most each 200 ms.
/// Source: Redis Cluster specification, "Clients first connection and handling of redirections".
[[nodiscard]] std::unique_ptr<Topology> MakeCluster(Environment& environment,
                                                    TopologyListener& listener);

/// What `connection` looks like in a ClientHealth.
[[nodiscard]] NodeHealth DescribeConnection(const Connection& connection, std::string_view role,
                                            bool serves);

}  // namespace activescale::redis
