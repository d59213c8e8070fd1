#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sim/model.h"
#include "sim/summary.h"

namespace activescale::sim {

/// One setting and the values it takes.
struct SweepAxis {
  std::string name;
  std::vector<double> values;
};

/// Reads `target=2..12,window=0..1800/300`: `a..b` are whole numbers (eleven evenly spread ones if
/// there would be more), `a..b/step` has its step, `a` or `a|b|c` are single values.
/// Settings: target (per pod, of the first metric), window (scale-down stabilization, s), min, max,
/// flush (s), up (scaleUp policy, percent in 15 s), start (s).
/// Errors: kInvalidArgument, naming the part and the known settings.
[[nodiscard]] base::Result<std::vector<SweepAxis>> ParseSweep(std::string_view text);

struct SweepPoint {
  std::vector<double> values;  // one for each axis
  Scenario scenario;
};

/// Every combination of the axes' values over `base`. Errors: kResourceExhausted above 10,000.
[[nodiscard]] base::Result<std::vector<SweepPoint>> ExpandSweep(const Scenario& base,
                                                                const std::vector<SweepAxis>& axes);

struct SweepResult {
  std::vector<double> values;
  Summary summary;
};

/// A line a point: values, pod-hours, average replicas, direction changes, queue and latency.
[[nodiscard]] std::string SweepTable(const std::vector<SweepAxis>& axes,
                                     const std::vector<SweepResult>& results);

/// A page with a heat map of pod-hours and one of latency p99 over the first two axes, and the
/// table.
[[nodiscard]] std::string SweepHtml(const std::vector<SweepAxis>& axes,
                                    const std::vector<SweepResult>& results);

}  // namespace activescale::sim
