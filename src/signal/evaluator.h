#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "promql/engine.h"
#include "series/series_source.h"
#include "signal/telemetry.h"

namespace activescale::signal {

/// What becomes of a value whose window begins before its recording did.
enum class PartialWindow : uint8_t { kMissing, kServe };

struct Scope {
  /// If not empty, every selector demands this value of the label `namespace` besides what it
  /// demands itself.
  std::string ns;
  PartialWindow partial_window = PartialWindow::kMissing;
  /// Shortens that of the engine's options.
  std::chrono::milliseconds timeout = std::chrono::milliseconds::max();
  /// Of EvaluateNow: the moment in Unix milliseconds that stands for now.
  std::optional<int64_t> at_ms;
};

/// Evaluates expressions for scaling: a value that stands for less than was asked is no value.
/// Threads: any, if the source and the telemetry allow it.
class Evaluator {
 public:
  /// All of them must outlive this. `telemetry` may be null: then no series comes from Envoys.
  Evaluator(const promql::EngineOptions& options, series::SeriesSource& series,
            const Telemetry* telemetry, const base::Clock& clock)
      : options_(options), series_(series), telemetry_(telemetry), clock_(clock) {}

  /// Errors: kNotFound: a window was not observed whole, which its scope does not allow;
  /// kUnavailable: what the telemetry reports, never an empty answer instead; those of
  /// promql::Engine::Evaluate.
  [[nodiscard]] base::Result<promql::QueryResult> Evaluate(const promql::Expr& expr,
                                                           const promql::EvaluationTime& time,
                                                           const Scope& scope = {}) const;

  /// At this moment, or the scope's.
  [[nodiscard]] base::Result<promql::QueryResult> EvaluateNow(const promql::Expr& expr,
                                                              const Scope& scope = {}) const;

 private:
  const promql::EngineOptions options_;
  series::SeriesSource& series_;
  const Telemetry* const telemetry_;
  const base::Clock& clock_;
};

}  // namespace activescale::signal
