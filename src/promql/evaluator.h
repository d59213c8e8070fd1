#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "promql/ast.h"
#include "promql/engine.h"
#include "promql/matrix.h"

namespace activescale::promql {

/// What all parts of one evaluation share. After the first error nothing more is done, and results
/// are without meaning.
struct Evaluation {
  Evaluation(const EngineOptions& engine_options, series::SeriesSource& series_source,
             const base::Clock& wall, const EvaluationTime& query_time)
      : options(engine_options),
        source(series_source),
        clock(wall),
        time(query_time),
        deadline(wall.Now() + engine_options.timeout) {}

  void Fail(base::Code code, std::string message) {
    if (!error) error = base::Error{code, std::move(message)};
  }
  void Fail(std::string message) { Fail(base::Code::kInvalidArgument, std::move(message)); }
  /// Accounts for samples read or made, and now and then looks at the clock. False when the query
  /// must end.
  [[nodiscard]] bool Spend(size_t samples);
  /// Ends the query if its time is over.
  void LookAtClock();

  const EngineOptions& options;
  series::SeriesSource& source;
  const base::Clock& clock;
  const EvaluationTime time;
  const base::SteadyTime deadline;
  uint64_t samples = 0;
  uint64_t spendings = 0;
  bool whole = true;
  std::optional<base::Error> error;
};

/// The steps of an evaluation: start, start + step, ... up to end.
struct Steps {
  int64_t start_ms = 0;
  int64_t end_ms = 0;
  int64_t step_ms = 1;

  [[nodiscard]] size_t count() const {
    return end_ms < start_ms ? 0 : static_cast<size_t>((end_ms - start_ms) / step_ms) + 1;
  }
  [[nodiscard]] int64_t at(size_t i) const { return start_ms + static_cast<int64_t>(i) * step_ms; }
  [[nodiscard]] size_t index(int64_t time_ms) const {
    return static_cast<size_t>((time_ms - start_ms) / step_ms);
  }
};

/// Evaluates expressions at the same steps. Subqueries have an evaluator of their own.
class Evaluator {
 public:
  Evaluator(Evaluation& evaluation, const Steps& steps) : shared_(evaluation), steps_(steps) {}

  /// Of an expression of type kVector.
  [[nodiscard]] Matrix EvaluateVector(const Expr& expr);
  /// Of an expression of type kScalar: one value for each step.
  [[nodiscard]] std::vector<double> EvaluateScalar(const Expr& expr);
  /// Of an expression of type kMatrix, at the first step.
  [[nodiscard]] Matrix EvaluateRange(const Expr& expr);

  [[nodiscard]] std::vector<series::Sample> AtEachStep(const std::vector<double>& values) const;

 private:
  // evaluator.cc
  [[nodiscard]] bool failed() const { return shared_.error.has_value(); }
  [[nodiscard]] bool IsPrometheus2() const {
    return shared_.options.dialect == Dialect::kPrometheus2;
  }
  [[nodiscard]] int64_t Reference(const Shift& shift, int64_t time_ms) const;
  [[nodiscard]] series::Selection Select(const VectorSelector& selector, int64_t min_ms,
                                         int64_t max_ms);
  /// Says that the answer is sure only if all since `from_ms` was recorded.
  void Need(const series::Selection& selection, int64_t from_ms);
  [[nodiscard]] Matrix Instant(const VectorSelector& selector, bool sample_times);
  [[nodiscard]] Matrix Negate(Matrix matrix);
  [[nodiscard]] Matrix Nameless(Matrix matrix);

  // evaluator_range.cc
  [[nodiscard]] Matrix CallOnRange(const Call& call, size_t range_arg);
  [[nodiscard]] Matrix ReadSubquery(const Subquery& subquery);
  [[nodiscard]] Matrix Absence(const Matrix& present, LabelSet labels) const;

  // evaluator_call.cc
  [[nodiscard]] Matrix CallVector(const Call& call);
  [[nodiscard]] Matrix MapValues(const Call& call);
  [[nodiscard]] Matrix Dates(const Call& call);
  [[nodiscard]] Matrix Timestamp(const Expr& arg);
  [[nodiscard]] Matrix Sorted(Matrix matrix, bool descending) const;
  [[nodiscard]] Matrix HistogramQuantile(const Call& call);
  [[nodiscard]] Matrix LabelReplace(const Call& call);
  [[nodiscard]] Matrix LabelJoin(const Call& call);
  [[nodiscard]] Matrix Relabelled(Matrix matrix);

  // evaluator_binary.cc
  [[nodiscard]] Matrix BinaryVector(const Binary& binary);
  [[nodiscard]] Matrix WithScalar(const Binary& binary, Matrix vector,
                                  const std::vector<double>& scalars, bool scalar_left);
  [[nodiscard]] Matrix SetOperation(const Binary& binary, const Matrix& lhs, const Matrix& rhs);
  [[nodiscard]] Matrix Match(const Binary& binary, const Matrix& lhs, const Matrix& rhs);

  // evaluator_aggregate.cc
  [[nodiscard]] Matrix AggregateVector(const Aggregate& aggregate);
  [[nodiscard]] Matrix CountValues(const Aggregate& aggregate, const Matrix& input);
  [[nodiscard]] Matrix LargestOrSmallest(const Aggregate& aggregate, const Matrix& input,
                                         const std::vector<double>& params);

  Evaluation& shared_;
  const Steps steps_;
};

/// The labels that a selector asks for by equality, for absent() and absent_over_time().
[[nodiscard]] LabelSet LabelsOfAbsent(const Expr& arg);

}  // namespace activescale::promql
