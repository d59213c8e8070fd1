#include "promql/engine.h"

#include <algorithm>
#include <utility>

#include "promql/evaluator.h"
#include "promql/parser.h"

namespace activescale::promql {
namespace {

std::vector<ResultSeries> ToResult(Matrix matrix, bool sorted) {
  std::vector<ResultSeries> out;
  out.reserve(matrix.size());
  for (SeriesValues& series : matrix) {
    out.push_back({series.labels.ToLabels(), std::move(series.points)});
  }
  if (sorted) {
    std::ranges::sort(out, {},
                      [](const ResultSeries& s) -> const auto& { return s.labels.entries(); });
  }
  return out;
}

}  // namespace

base::Result<QueryResult> Engine::Query(std::string_view query, const EvaluationTime& time) const {
  const auto expr = Parse(query, options_.dialect);
  if (!expr) return std::unexpected(expr.error());
  return Evaluate(**expr, time);
}

base::Result<QueryResult> Engine::Evaluate(const Expr& expr, const EvaluationTime& time) const {
  const bool instant = time.step_ms <= 0;
  QueryResult result;
  result.type = instant ? expr.type : ValueType::kMatrix;
  if (!instant && expr.type != ValueType::kScalar && expr.type != ValueType::kVector) {
    return base::Fail(base::Code::kInvalidArgument,
                      "invalid expression type \"" + std::string(TypeName(expr.type)) +
                          "\" for range query, must be scalar or instant vector");
  }
  if (expr.type == ValueType::kString) {
    result.text = std::get<StringLiteral>(Unwrap(expr).node).value;
    return result;
  }
  Evaluation evaluation(options_, source_, clock_, time);
  const int64_t end_ms = instant ? time.start_ms : time.end_ms;
  const Steps steps{time.start_ms, end_ms, instant ? 1 : time.step_ms};
  if (!evaluation.Spend(steps.count())) return std::unexpected(std::move(*evaluation.error));
  Evaluator evaluator(evaluation, steps);
  Matrix matrix;
  if (expr.type == ValueType::kMatrix) {
    matrix = evaluator.EvaluateRange(expr);
  } else if (expr.type == ValueType::kScalar) {
    const std::vector<double> values = evaluator.EvaluateScalar(expr);
    if (instant) {
      result.scalar = values.empty() ? 0 : values[0];
    } else {
      matrix.push_back({LabelSet(), evaluator.AtEachStep(values)});
    }
  } else {
    matrix = evaluator.EvaluateVector(expr);
  }
  if (evaluation.error) return std::unexpected(std::move(*evaluation.error));
  result.whole = evaluation.whole;
  result.series = ToResult(std::move(matrix), result.type == ValueType::kMatrix);
  return result;
}

}  // namespace activescale::promql
