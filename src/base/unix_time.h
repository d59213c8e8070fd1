#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace activescale::base {

inline constexpr int64_t kMsPerSecond = 1'000;
inline constexpr int64_t kNsPerMs = 1'000'000;

/// Milliseconds since 1970, as samples of series are dated.
[[nodiscard]] inline int64_t UnixMs(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

[[nodiscard]] inline int64_t UnixMsNow(const Clock& clock) { return UnixMs(clock.WallNow()); }

/// When `at` was by the calendar, judged by both clocks of this moment.
[[nodiscard]] inline int64_t UnixMsAt(const Clock& clock, SteadyTime at) {
  return UnixMs(clock.WallNow() - std::chrono::duration_cast<WallTime::duration>(clock.Now() - at));
}

}  // namespace activescale::base
