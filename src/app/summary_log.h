#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace activescale::app {

/// Tells in the log, once an interval, how much each counter grew: what an operator greps for.
/// Threads: one.
class SummaryLog {
 public:
  struct Entry {
    std::string name;
    std::function<double()> total;
  };

  /// An interval of 0 tells nothing.
  SummaryLog(std::chrono::nanoseconds interval, std::vector<Entry> entries, base::SteadyTime now);

  void Tick(base::SteadyTime now);

 private:
  const std::chrono::nanoseconds interval_;
  const std::vector<Entry> entries_;
  std::vector<double> told_;  // totals at the last line, as entries_
  base::SteadyTime last_;
};

}  // namespace activescale::app
