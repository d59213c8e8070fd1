#pragma once

#include <cstdint>
#include <map>

#include "sim/fleet.h"
#include "sim/model.h"

namespace activescale::sim {

/// What one pod has.
struct PodLoad {
  double in_flight = 0;  // worked on, and its share of what waits
  double running = 0;    // worked on
};

/// What is true of the workload at a moment.
struct ServiceState {
  double in_flight = 0;  // worked on and waiting
  double running = 0;    // worked on
  int32_t serving = 0;
  /// Requests that each pod works on, if they are known one by one; not owned.
  const std::map<int64_t, int32_t>* running_by_pod = nullptr;

  /// What `pod` has: its own requests if known, else an even share, and an even share of the queue.
  [[nodiscard]] PodLoad Of(const FleetPod& pod, double now) const;
};

/// The simulated workload between arrivals and answers. Threads: one at a time.
class Service {
 public:
  virtual ~Service() = default;

  /// Moves from `before` to `now` with `qps` arriving at the pods of `fleet`.
  virtual void Step(double before, double now, double qps, const Fleet& fleet) = 0;

  [[nodiscard]] virtual ServiceState state() const = 0;
  [[nodiscard]] virtual double queued() const = 0;
  /// Response time now, waiting and work, seconds.
  [[nodiscard]] virtual double latency() const = 0;
  /// Requests that found the queue full, since the start.
  [[nodiscard]] virtual double refused() const = 0;
  /// Adds the response times of the last step.
  virtual void AddLatencies(LatencyRecord& record) const = 0;
};

}  // namespace activescale::sim
