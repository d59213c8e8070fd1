#pragma once

#include <cstdint>

namespace activescale::promql {

/// Whose rules hold where Prometheus 3 differs from 2.x: in 2.x a range includes its first moment,
/// numbers are no durations nor durations numbers, and names are ASCII.
enum class Dialect : uint8_t { kPrometheus3, kPrometheus2 };

}  // namespace activescale::promql
