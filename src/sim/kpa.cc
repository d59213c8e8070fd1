#include "sim/kpa.h"

#include <algorithm>
#include <cmath>

namespace activescale::sim {
namespace {

constexpr double kPanicThreshold = 2.0;    // of the ready pods: panic-threshold-percentage 200
constexpr double kMaxScaleUpRate = 1000;   // max-scale-up-rate
constexpr double kMaxScaleDownRate = 2.0;  // max-scale-down-rate

}  // namespace

Kpa::Kpa(const SignalPath& path, double target_per_pod, int32_t min_replicas, int32_t max_replicas)
    : stable_window_(path.stable_window),
      panic_window_(path.panic_window),
      target_(target_per_pod),
      min_(min_replicas),
      max_(max_replicas) {}

double Kpa::Mean(double since) const {
  double sum = 0;
  int count = 0;
  for (const Sample& sample : samples_) {
    if (sample.at <= since) continue;
    sum += sample.value;
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

int32_t Kpa::Tick(double now, double in_flight, int32_t ready) {
  samples_.push_back({now, in_flight});
  while (samples_.front().at <= now - stable_window_) samples_.pop_front();
  const double pods = std::max(1, ready);
  const auto limited = [&](double wanted) {
    return std::clamp(wanted, std::floor(pods / kMaxScaleDownRate), pods * kMaxScaleUpRate);
  };
  const double stable = limited(std::ceil(Mean(now - stable_window_) / target_));
  const double panic = limited(std::ceil(Mean(now - panic_window_) / target_));
  if (panic >= kPanicThreshold * pods) panic_since_ = now;
  double desired = stable;
  if (panic_since_ >= 0) {
    if (now - panic_since_ < stable_window_) {
      panic_replicas_ = std::max(panic_replicas_, static_cast<int32_t>(panic));
      desired = panic_replicas_;
    } else {
      panic_since_ = -1;
      panic_replicas_ = 0;
    }
  }
  return static_cast<int32_t>(std::clamp<double>(desired, min_, max_));
}

}  // namespace activescale::sim
