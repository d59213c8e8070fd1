#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace activescale::series {

/// A value at a moment: milliseconds since the Unix epoch, any double.
struct Sample {
  int64_t time_ms = 0;
  double value = 0;

  friend bool operator==(const Sample&, const Sample&) = default;
};

/// The marker that says "this series has ended here": one NaN among all others.
/// Source: prometheus/prometheus:model/value/value.go.
inline constexpr uint64_t kStaleMarkerBits = 0x7ff0000000000002;

[[nodiscard]] inline double StaleMarker() { return std::bit_cast<double>(kStaleMarkerBits); }
[[nodiscard]] inline bool IsStaleMarker(double value) {
  return std::bit_cast<uint64_t>(value) == kStaleMarkerBits;
}

inline constexpr int64_t kMinTime = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kMaxTime = std::numeric_limits<int64_t>::max();

}  // namespace activescale::series
