#pragma once

#include <vector>

namespace activescale::sim {

/// One series of in-flight work over time: what was queued and running.
struct HistorySeries {
  struct Sample {
    double at_seconds;  // ascending
    double value;       // >= 0
  };
  std::vector<Sample> samples;
};

/// All series together: at each moment that one of them has, the sum of those that have it.
[[nodiscard]] HistorySeries SumByTime(const std::vector<HistorySeries>& all);

}  // namespace activescale::sim
