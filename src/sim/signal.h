#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "hpa/types.h"
#include "sim/fleet.h"
#include "sim/model.h"
#include "sim/service.h"

namespace activescale::sim {

/// What the autoscaler believes, after the delays of a signal path. Threads: one at a time.
class Signal {
 public:
  Signal(const SignalPath& path, std::mt19937_64& random);

  /// Takes the samples that are due in (before, now].
  void Observe(double before, double now, const ServiceState& state, const Fleet& fleet);

  /// What the metrics API answers for one metric now.
  [[nodiscard]] hpa::MetricAnswer Answer(const hpa::MetricSpec& spec, const Fleet& fleet,
                                         double now);

  /// A pod of the answer, and when its newest value came.
  struct Seen {
    const FleetPod* pod;
    double received;
    bool busy;  // its value is not 0
  };
  /// Those of `fleet` that have a value now; valid as long as its pods.
  [[nodiscard]] std::vector<Seen> Times(const Fleet& fleet, double now) const;

  /// Name of a pod in answers and observations.
  [[nodiscard]] static std::string PodName(const FleetPod& pod);

 private:
  struct Sample {
    double at;
    double value;
  };
  struct PodSeries {
    double phase = 0;            // of this pod's samples within the interval
    double busy_seconds = 0;     // integral since the last CPU sample
    std::deque<Sample> samples;  // those that a window can still need, at least the newest
  };

  [[nodiscard]] double interval() const;
  [[nodiscard]] double MaxAge() const;
  /// The pod's value now: the newest or the window's maximum; negative if it is missing.
  [[nodiscard]] double Value(const PodSeries& series, double now) const;
  [[nodiscard]] double Sum(double now) const;

  const SignalPath& path_;
  std::mt19937_64& random_;
  std::map<int64_t, PodSeries> pods_;
  double cached_sum_ = 0;
  double cached_at_ = -FleetPod::kNever;
};

}  // namespace activescale::sim
