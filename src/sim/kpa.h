#pragma once

#include <cstdint>
#include <deque>

#include "sim/model.h"

namespace activescale::sim {

/// Knative's pod autoscaler in its essentials, for comparison: the mean of a stable window, and of
/// a short panic window while that asks for twice what is there; it ticks every 2 s, at most halves
/// in a tick, and never shrinks in panic. Source:
/// knative/serving:pkg/autoscaler/scaling/autoscaler.go and config defaults.
class Kpa {
 public:
  Kpa(const SignalPath& path, double target_per_pod, int32_t min_replicas, int32_t max_replicas);

  static constexpr double kTick = 2;

  /// Remembers the concurrency of the last tick and decides.
  [[nodiscard]] int32_t Tick(double now, double in_flight, int32_t ready);

 private:
  struct Sample {
    double at;
    double value;
  };
  [[nodiscard]] double Mean(double since) const;

  const double stable_window_;
  const double panic_window_;
  const double target_;
  const int32_t min_;
  const int32_t max_;
  std::deque<Sample> samples_;
  double panic_since_ = -1;
  int32_t panic_replicas_ = 0;
};

}  // namespace activescale::sim
