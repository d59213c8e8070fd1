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
    return WallTime(
        std::chrono::duration_cast<WallTime::duration>(offset_.load() + wall_ahead_.load()));
  }

  void Advance(std::chrono::nanoseconds by) { offset_ = offset_.load() + by; }
  /// Somebody sets the wall clock by so much, which the steady one does not notice.
  void SetWallBy(std::chrono::nanoseconds by) { wall_ahead_ = wall_ahead_.load() + by; }

 private:
  std::atomic<std::chrono::nanoseconds> offset_{std::chrono::seconds(1'000'000)};
  std::atomic<std::chrono::nanoseconds> wall_ahead_{std::chrono::nanoseconds(0)};
};

}  // namespace activescale::base
