#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "promql/dialect.h"
#include "promql/functions.h"
#include "series/sample.h"

namespace activescale::promql {

/// What a function of a range sees of one series at one step.
struct Window {
  std::span<const series::Sample> samples;  // never empty, no stale markers
  int64_t start_ms = 0;
  int64_t end_ms = 0;
  int64_t eval_ms = 0;  // the step, before `offset` and `@`
  int64_t range_ns = 0;
  double param = 0;  // of quantile_over_time and predict_linear
  Dialect dialect = Dialect::kPrometheus3;
};

/// The function's value, or nothing when the window has too few samples.
/// `scratch` is reused between calls.
/// Source: prometheus/prometheus:promql/functions.go.
[[nodiscard]] std::optional<double> ApplyToWindow(FunctionId function, const Window& window,
                                                  std::vector<double>& scratch);

}  // namespace activescale::promql
