#include "sim/flow.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace activescale::sim {

double FlowService::Slots() const {
  if (serving_ == 0) return 0;
  return model_.workers == 0 ? std::numeric_limits<double>::infinity()
                             : static_cast<double>(model_.workers) * serving_;
}

void FlowService::Step(double before, double now, double qps, const Fleet& fleet) {
  const double dt = now - before;
  serving_ = fleet.CountServing(now);
  arrived_in_step_ = qps * dt;
  idle_for_ = serving_ == 0 ? idle_for_ + dt : 0;
  const double slots = Slots();
  double left = dt;
  // In pieces, in each of which either all slots are taken (a straight line) or none waits (an
  // exponential towards qps × latency): each piece is exact.
  while (left > 1e-9) {
    if (in_flight_ >= slots) {
      const double change = qps - slots / model_.latency;
      const double until_free =
          change < 0 ? (in_flight_ - slots) / -change : std::numeric_limits<double>::infinity();
      const double piece = std::clamp(until_free, 1e-6, left);
      in_flight_ += change * piece;
      if (change < 0) in_flight_ = std::max(in_flight_, slots * (1 - 1e-12));
      left -= piece;
    } else {
      const double goal = qps * model_.latency;
      double piece = left;
      if (goal > slots) {
        piece =
            std::min(left, model_.latency * std::log((goal - in_flight_) / (goal - slots)) + 1e-9);
      }
      in_flight_ = goal + (in_flight_ - goal) * std::exp(-piece / model_.latency);
      left -= piece;
    }
  }
  if (model_.queue_limit > 0 && slots < std::numeric_limits<double>::infinity()) {
    const double most = slots + static_cast<double>(model_.queue_limit);
    refused_ += std::max(0.0, in_flight_ - most);
    in_flight_ = std::min(in_flight_, most);
  }
}

double FlowService::queued() const { return std::max(0.0, in_flight_ - Slots()); }

ServiceState FlowService::state() const {
  return {.in_flight = in_flight_, .running = std::min(in_flight_, Slots()), .serving = serving_};
}

double FlowService::latency() const {
  const double slots = Slots();
  if (slots == 0) return model_.latency + idle_for_;
  if (std::isinf(slots)) return model_.latency;
  return model_.latency + queued() * model_.latency / slots;
}

void FlowService::AddLatencies(LatencyRecord& record) const {
  record.Add(latency(), arrived_in_step_);
}

}  // namespace activescale::sim
