#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "sim/model.h"

namespace activescale::sim {

/// A pod of the simulated workload. Times are seconds since the start of the run.
struct FleetPod {
  int64_t id = 0;
  double created = 0;
  double ready_at = 0;
  double serves_at = 0;
  double deleted_at = kNever;  // when it was told to go; it takes no new load from then on
  double gone_at = kNever;

  [[nodiscard]] bool Ready(double now) const { return ready_at <= now && deleted_at > now; }
  [[nodiscard]] bool Serving(double now) const { return serves_at <= now && deleted_at > now; }

  static constexpr double kNever = 1e300;
};

/// The pods of the workload: made and removed as a Deployment does it, with the delays of the
/// service model. Threads: one at a time.
class Fleet {
 public:
  /// `replicas` pods that serve from the start.
  Fleet(const ServiceModel& service, int32_t replicas, std::mt19937_64& random);

  /// spec.replicas becomes `replicas`: new pods start, or pods go, not-ready ones and then the
  /// youngest first.
  void Scale(int32_t replicas, double now);

  /// Forgets pods that are gone.
  void Advance(double now);

  [[nodiscard]] int32_t spec_replicas() const { return spec_replicas_; }
  [[nodiscard]] int32_t CountReady(double now) const;
  [[nodiscard]] int32_t CountServing(double now) const;
  [[nodiscard]] const std::vector<FleetPod>& pods() const { return pods_; }

 private:
  void Add(double now, double ready_after, double serves_after);

  const ServiceModel& service_;
  std::mt19937_64& random_;
  int32_t spec_replicas_;
  int64_t next_id_ = 0;
  std::vector<FleetPod> pods_;  // in order of creation
};

}  // namespace activescale::sim
