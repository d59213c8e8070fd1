#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "metric/labels.h"
#include "promql/ast.h"
#include "promql/dialect.h"
#include "series/sample.h"
#include "series/series_source.h"

namespace activescale::promql {

struct EngineOptions {
  Dialect dialect = Dialect::kPrometheus3;
  /// How long an instant selector looks back for a sample.
  std::chrono::milliseconds lookback{std::chrono::minutes(5)};
  /// Step of a subquery that names none.
  std::chrono::milliseconds subquery_step{std::chrono::minutes(1)};
  /// Samples that one query may read and hold, all its parts together.
  uint64_t max_samples = 50'000'000;
  std::chrono::milliseconds timeout{std::chrono::seconds(30)};
};

/// When to evaluate: once at `start_ms` (step 0), or at each step up to and including `end_ms`.
struct EvaluationTime {
  int64_t start_ms = 0;
  int64_t end_ms = 0;
  int64_t step_ms = 0;

  static EvaluationTime At(int64_t time_ms) { return {time_ms, time_ms, 0}; }
};

struct ResultSeries {
  metric::Labels labels;
  std::vector<series::Sample> points;
};

/// The answer to a query. Which member holds it is told by `type`; a range evaluation always gives
/// kMatrix.
struct QueryResult {
  ValueType type = ValueType::kVector;
  double scalar = 0;
  std::string text;
  /// Of kVector one point each, in the order of the expression (sort, topk); of kMatrix sorted by
  /// labels.
  std::vector<ResultSeries> series;
  /// Whether every sample that the query means was recorded by the source. When false, some window
  /// begins before its recording did, and the values stand for a part of it.
  bool whole = true;
};

/// Evaluates queries as Prometheus does.
/// Source: prometheus/prometheus:promql/engine.go.
/// Threads: any, if the source allows it.
class Engine {
 public:
  Engine(const EngineOptions& options, series::SeriesSource& source, const base::Clock& clock)
      : options_(options), source_(source), clock_(clock) {}

  /// Errors: kInvalidArgument: the values do not fit the expression (two series where one may be,
  /// an invalid label). kResourceExhausted: more than max_samples. kDeadlineExceeded: longer than
  /// the timeout. What the source reports, unchanged.
  [[nodiscard]] base::Result<QueryResult> Evaluate(const Expr& expr,
                                                   const EvaluationTime& time) const;

  /// Parse and Evaluate.
  [[nodiscard]] base::Result<QueryResult> Query(std::string_view query,
                                                const EvaluationTime& time) const;

 private:
  const EngineOptions options_;
  series::SeriesSource& source_;
  const base::Clock& clock_;
};

}  // namespace activescale::promql
