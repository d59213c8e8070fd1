#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "metric/labels.h"
#include "promql/ast.h"
#include "signal/catalogue.h"
#include "signal/evaluator.h"
#include "telemetry/registry.h"

namespace activescale::signal {

/// One value that an autoscaler may act on: finite, not negative, at most 10^12.
struct Reading {
  metric::Labels labels;  // without the name
  double value = 0;
};

/// Turns expressions into values for autoscalers. Threads: any.
class SignalReader {
 public:
  /// Both must outlive it.
  SignalReader(const Evaluator& evaluator, telemetry::Registry& registry);

  /// The signal's values now, or as of a moment in Unix milliseconds: at least one; with the
  /// fallback, that alone. Errors: kNotFound: there
  /// is no value, with the cause; kUnavailable, kDeadlineExceeded, kResourceExhausted: there may be
  /// one another time; kInternal: the expression cannot be evaluated, or gives what nobody can
  /// scale by (NaN, infinite, negative).
  [[nodiscard]] base::Result<std::vector<Reading>> Read(
      const Signal& signal, std::optional<int64_t> at_ms = std::nullopt) const;

  /// The same of any expression, without a fallback.
  [[nodiscard]] base::Result<std::vector<Reading>> Read(const promql::Expr& expr,
                                                        const Scope& scope) const;

 private:
  const Evaluator& evaluator_;
  telemetry::Counter& served_;
  telemetry::Counter& missing_;
  telemetry::Counter& failed_;
  telemetry::Counter& fallbacks_;
};

/// The value of readings that must be one: KEDA takes a single number. Errors: kInvalidArgument.
[[nodiscard]] base::Result<double> SingleValue(const std::vector<Reading>& readings);

}  // namespace activescale::signal
