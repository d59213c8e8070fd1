#include "sim/model.h"

#include <algorithm>

namespace activescale::sim {

double LatencyRecord::Quantile(double share) {
  if (entries_.empty()) return 0;
  if (!sorted_) std::ranges::sort(entries_, {}, &Entry::seconds);
  sorted_ = true;
  double total = 0;
  for (const Entry& entry : entries_) total += entry.requests;
  double seen = 0;
  for (const Entry& entry : entries_) {
    seen += entry.requests;
    if (seen >= share * total) return entry.seconds;
  }
  return entries_.back().seconds;
}

}  // namespace activescale::sim
