#include "sim/history.h"

#include <map>

namespace activescale::sim {

HistorySeries SumByTime(const std::vector<HistorySeries>& all) {
  std::map<double, double> sums;
  for (const HistorySeries& series : all) {
    for (const HistorySeries::Sample& sample : series.samples) {
      sums[sample.at_seconds] += sample.value;
    }
  }
  HistorySeries out;
  out.samples.reserve(sums.size());
  for (const auto& [at, sum] : sums) out.samples.push_back({at, sum});
  return out;
}

}  // namespace activescale::sim
