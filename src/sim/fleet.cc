#include "sim/fleet.h"

#include <algorithm>

namespace activescale::sim {

Fleet::Fleet(const ServiceModel& service, int32_t replicas, std::mt19937_64& random)
    : service_(service), random_(random), spec_replicas_(replicas) {
  for (int32_t i = 0; i < replicas; ++i) Add(0, 0, 0);
}

void Fleet::Add(double now, double ready_after, double serves_after) {
  pods_.push_back({.id = next_id_++,
                   .created = now,
                   .ready_at = now + ready_after,
                   .serves_at = now + ready_after + serves_after});
}

void Fleet::Scale(int32_t replicas, double now) {
  int32_t alive = 0;
  for (const FleetPod& pod : pods_) alive += pod.deleted_at == FleetPod::kNever ? 1 : 0;
  spec_replicas_ = replicas;
  std::uniform_real_distribution<double> spread(-service_.start_spread, service_.start_spread);
  for (; alive < replicas; ++alive) {
    Add(now, std::max(0.0, service_.start + spread(random_)), service_.warmup);
  }
  // As the ReplicaSet controller ranks them: not ready before ready, young before old.
  for (; alive > replicas; --alive) {
    FleetPod* victim = nullptr;
    for (FleetPod& pod : pods_) {
      if (pod.deleted_at != FleetPod::kNever) continue;
      if (victim == nullptr || !pod.Ready(now) || victim->Ready(now)) victim = &pod;
    }
    victim->deleted_at = now;
    victim->gone_at = now + service_.terminating;
  }
}

void Fleet::Advance(double now) {
  std::erase_if(pods_, [now](const FleetPod& pod) { return pod.gone_at <= now; });
}

int32_t Fleet::CountReady(double now) const {
  return static_cast<int32_t>(
      std::ranges::count_if(pods_, [now](const FleetPod& pod) { return pod.Ready(now); }));
}

int32_t Fleet::CountServing(double now) const {
  return static_cast<int32_t>(
      std::ranges::count_if(pods_, [now](const FleetPod& pod) { return pod.Serving(now); }));
}

}  // namespace activescale::sim
