#pragma once

#include <chrono>

namespace activescale::base {

/// A moment on our own monotonic clock; all freshness is judged by it.
using SteadyTime = std::chrono::steady_clock::time_point;

/// A moment of the calendar, for timestamps that people and Kubernetes read.
using WallTime = std::chrono::system_clock::time_point;

/// The only way to the time, so that tests move it by hand. Threads: any.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual SteadyTime Now() const = 0;
  [[nodiscard]] virtual WallTime WallNow() const = 0;
};

/// The machine's clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] SteadyTime Now() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] WallTime WallNow() const override { return std::chrono::system_clock::now(); }
};

}  // namespace activescale::base
