#pragma once

#include <atomic>
#include <chrono>

#include "base/clock.h"

namespace activescale::base {

/// A clock that stands still until a test moves it. Starts at 1,000,000 s on both scales.
/// Threads: any.
class FakeClock final : public Clock {
 public:
  [[nodiscard]] SteadyTime Now() const override { return SteadyTime(offset_.load()); }
  [[nodiscard]] WallTime WallNow() const override {
    return WallTime(std::chrono::duration_cast<WallTime::duration>(offset_.load()));
  }

  void Advance(std::chrono::nanoseconds by) { offset_ = offset_.load() + by; }

 private:
  std::atomic<std::chrono::nanoseconds> offset_{std::chrono::seconds(1'000'000)};
};

}  // namespace activescale::base
