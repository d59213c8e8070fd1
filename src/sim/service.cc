#include "sim/service.h"

namespace activescale::sim {

PodLoad ServiceState::Of(const FleetPod& pod, double now) const {
  if (serving == 0 || !pod.Serving(now)) return {};
  const double waiting = (in_flight - running) / serving;
  if (running_by_pod == nullptr) {
    return {.in_flight = in_flight / serving, .running = running / serving};
  }
  const auto own = running_by_pod->find(pod.id);
  const double busy = own == running_by_pod->end() ? 0 : own->second;
  return {.in_flight = busy + waiting, .running = busy};
}

}  // namespace activescale::sim
