#pragma once

#include <atomic>
#include <chrono>

#include "base/clock.h"

namespace activescale::base {

/// Lets one warning of a kind through in kInterval, so that a thousand faulty senders do not flood
/// the log; the counters tell how many there were. Threads: any.
class WarningGate {
 public:
  static constexpr std::chrono::seconds kInterval{10};

  [[nodiscard]] bool Pass(SteadyTime now) {
    SteadyTime next = next_.load(std::memory_order_relaxed);
    return now >= next &&
           next_.compare_exchange_strong(next, now + kInterval, std::memory_order_relaxed);
  }

 private:
  std::atomic<SteadyTime> next_{SteadyTime::min()};
};

}  // namespace activescale::base
