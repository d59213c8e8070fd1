// Functions of ranges, and subqueries.

#include <algorithm>
#include <utility>

#include "base/unix_time.h"
#include "promql/evaluator.h"
#include "promql/range_functions.h"

namespace activescale::promql {
namespace {

/// Moves a window over one series' samples, from step to step, and applies the function.
class WindowWalk {
 public:
  WindowWalk(FunctionId function, Dialect dialect, int64_t range_ns)
      : function_(function), range_ms_(range_ns / base::kNsPerMs) {
    window_.dialect = dialect;
    window_.range_ns = range_ns;
  }

  void Start(std::span<const series::Sample> samples) {
    samples_ = samples;
    begin_ = 0;
    end_ = 0;
  }

  /// `reference_ms` must not go back.
  std::optional<double> At(int64_t eval_ms, int64_t reference_ms, int64_t start_ms, double param) {
    const bool closed = window_.dialect == Dialect::kPrometheus2;
    while (end_ < samples_.size() && samples_[end_].time_ms <= reference_ms) ++end_;
    const int64_t edge = reference_ms - range_ms_;
    while (begin_ < end_ &&
           (closed ? samples_[begin_].time_ms < edge : samples_[begin_].time_ms <= edge)) {
      ++begin_;
    }
    if (begin_ == end_) return std::nullopt;
    window_.samples = samples_.subspan(begin_, end_ - begin_);
    window_.start_ms = start_ms;
    window_.end_ms = reference_ms;
    window_.eval_ms = eval_ms;
    window_.param = param;
    return ApplyToWindow(function_, window_, scratch_);
  }

 private:
  const FunctionId function_;
  const int64_t range_ms_;
  Window window_;
  std::vector<double> scratch_;
  std::span<const series::Sample> samples_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace

Matrix Evaluator::CallOnRange(const Call& call, size_t range_arg) {
  std::vector<double> params;
  if (call.args.size() == 2) params = EvaluateScalar(*call.args[1 - range_arg]);
  const Expr& arg = Unwrap(*call.args[range_arg]);
  const FunctionId function = call.function->id;
  Matrix matrix;
  const auto apply = [&](LabelSet labels, const Shift& shift, int64_t range_ns,
                         const std::vector<series::Sample>& samples, WindowWalk& walk) {
    std::vector<series::Sample> points;
    walk.Start(samples);
    for (size_t i = 0; i < steps_.count(); ++i) {
      const int64_t reference = Reference(shift, steps_.at(i));
      // Rounded once, as the real engine does, when range and offset are no whole milliseconds.
      const int64_t base = reference + shift.offset_ns / base::kNsPerMs;
      const int64_t start = base - (range_ns + shift.offset_ns) / base::kNsPerMs;
      const double param = params.empty() ? 0 : params[i];
      const auto value = walk.At(steps_.at(i), reference, start, param);
      if (value) points.push_back({steps_.at(i), *value});
    }
    if (!shared_.Spend(samples.size() + points.size())) return false;
    if (!points.empty()) matrix.push_back({std::move(labels), std::move(points)});
    return true;
  };
  if (const auto* selector = std::get_if<MatrixSelector>(&arg.node)) {
    const Shift& shift = selector->selector.shift;
    const int64_t first = Reference(shift, steps_.start_ms) - selector->range_ns / base::kNsPerMs;
    const int64_t last = Reference(shift, steps_.at(steps_.count() - 1));
    WindowWalk walk(function, shared_.options.dialect, selector->range_ns);
    std::vector<series::Sample> samples;
    const series::Selection selection = Select(selector->selector, first, last);
    Need(selection, first);
    matrix.reserve(selection.series.size());
    for (const auto& series : selection.series) {
      samples.clear();
      series->ForEach(first, last, [&](const series::Sample& sample) {
        if (!series::IsStaleMarker(sample.value)) samples.push_back(sample);
      });
      if (!apply(LabelSet(series->shared_labels()), shift, selector->range_ns, samples, walk)) {
        return {};
      }
    }
  } else if (const auto* subquery = std::get_if<Subquery>(&arg.node)) {
    WindowWalk walk(function, shared_.options.dialect, subquery->range_ns);
    for (const SeriesValues& series : ReadSubquery(*subquery)) {
      if (!apply(series.labels, subquery->shift, subquery->range_ns, series.points, walk)) {
        return {};
      }
    }
  }
  if (failed()) return {};
  if (function == FunctionId::kAbsentOverTime) return Absence(matrix, LabelsOfAbsent(arg));
  if (function == FunctionId::kLastOverTime) return matrix;
  if (DropNames(matrix) && HasSameLabels(matrix)) shared_.Fail(kSameLabels);
  return matrix;
}

/// Steps of a subquery are whole multiples of its step, whatever the query's own are.
Matrix Evaluator::ReadSubquery(const Subquery& subquery) {
  const int64_t step = subquery.step_ns == 0
                           ? shared_.options.subquery_step.count()
                           : std::max<int64_t>(subquery.step_ns / base::kNsPerMs, 1);
  const int64_t begin =
      Reference(subquery.shift, steps_.start_ms) - subquery.range_ns / base::kNsPerMs;
  const int64_t last = Reference(subquery.shift, steps_.at(steps_.count() - 1));
  int64_t first = step * (begin / step);
  const bool closed = IsPrometheus2();
  if (closed ? first < begin : first <= begin) first += step;
  const Steps inner{first, last, step};
  if (!shared_.Spend(inner.count())) return {};
  return Evaluator(shared_, inner).EvaluateVector(*subquery.expr);
}

Matrix Evaluator::Absence(const Matrix& present, LabelSet labels) const {
  std::vector<bool> found(steps_.count(), false);
  for (const SeriesValues& series : present) {
    for (const series::Sample& point : series.points) found[steps_.index(point.time_ms)] = true;
  }
  std::vector<series::Sample> points;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) points.push_back({steps_.at(i), 1});
  }
  if (points.empty()) return {};
  Matrix matrix;
  matrix.push_back({std::move(labels), std::move(points)});
  return matrix;
}

Matrix Evaluator::EvaluateRange(const Expr& expr) {
  const Expr& inner = Unwrap(expr);
  if (const auto* subquery = std::get_if<Subquery>(&inner.node)) return ReadSubquery(*subquery);
  const auto& selector = std::get<MatrixSelector>(inner.node);
  const int64_t last = Reference(selector.selector.shift, steps_.start_ms);
  const int64_t edge = last - selector.range_ns / base::kNsPerMs;
  const int64_t first = IsPrometheus2() ? edge : edge + 1;
  Matrix matrix;
  const series::Selection selection = Select(selector.selector, first, last);
  Need(selection, edge);
  for (const auto& series : selection.series) {
    std::vector<series::Sample> samples;
    series->ForEach(first, last, [&](const series::Sample& sample) {
      if (!series::IsStaleMarker(sample.value)) samples.push_back(sample);
    });
    if (!shared_.Spend(samples.size())) return {};
    if (!samples.empty()) matrix.push_back({LabelSet(series->shared_labels()), std::move(samples)});
  }
  return matrix;
}

}  // namespace activescale::promql
