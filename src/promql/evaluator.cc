#include "promql/evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/unix_time.h"
#include "promql/binary_ops.h"

namespace activescale::promql {
namespace {

/// For std::visit, one function for each kind of node.
template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

}  // namespace

bool Evaluation::Spend(size_t count) {
  // A look takes longer than a few samples, which is what most spend.
  constexpr uint64_t kSpendingsPerLook = 64;
  samples += count;
  if (samples > options.max_samples) {
    Fail(base::Code::kResourceExhausted,
         "the query would read more than " + std::to_string(options.max_samples) +
             " samples; ask for a shorter range, a larger step or fewer series");
  } else if (spendings++ % kSpendingsPerLook == 0) {
    LookAtClock();
  }
  return !error;
}

void Evaluation::LookAtClock() {
  if (clock.Now() < deadline) return;
  Fail(base::Code::kDeadlineExceeded,
       "the query took longer than " + std::to_string(options.timeout.count()) +
           "ms; ask for a shorter range, a larger step or fewer series");
}

std::vector<series::Sample> Evaluator::AtEachStep(const std::vector<double>& values) const {
  std::vector<series::Sample> points;
  points.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) points.push_back({steps_.at(i), values[i]});
  return points;
}

/// The moment that a selector means at a step.
int64_t Evaluator::Reference(const Shift& shift, int64_t time_ms) const {
  using Kind = AtModifier::Kind;
  switch (shift.at.kind) {
    case Kind::kNone:
      break;
    case Kind::kTime:
      time_ms = shift.at.time_ms;
      break;
    case Kind::kStart:
      time_ms = shared_.time.start_ms;
      break;
    case Kind::kEnd:
      time_ms = shared_.time.step_ms > 0 ? shared_.time.end_ms : shared_.time.start_ms;
      break;
  }
  return time_ms - shift.offset_ns / base::kNsPerMs;
}

series::Selection Evaluator::Select(const VectorSelector& selector, int64_t min_ms,
                                    int64_t max_ms) {
  auto selection = shared_.source.Select(selector.matchers, min_ms, max_ms);
  shared_.LookAtClock();
  if (selection) return *std::move(selection);
  shared_.Fail(selection.error().code, selection.error().message);
  return {};
}

void Evaluator::Need(const series::Selection& selection, int64_t from_ms) {
  shared_.whole = shared_.whole && selection.observed_since_ms <= from_ms;
}

/// The newest sample before each step, or its time in seconds with `sample_times`.
Matrix Evaluator::Instant(const VectorSelector& selector, bool sample_times) {
  Shift shift = selector.shift;
  // As the real engine: timestamp() of a selector with `@` does not look at the offset.
  if (sample_times && shift.at.kind != AtModifier::Kind::kNone) shift.offset_ns = 0;
  const int64_t first = Reference(shift, steps_.start_ms);
  const int64_t last = Reference(shift, steps_.at(steps_.count() - 1));
  const int64_t lookback = shared_.options.lookback.count() - (IsPrometheus2() ? 0 : 1);
  Matrix matrix;
  std::vector<series::Sample> samples;
  const series::Selection selection = Select(selector, first - lookback, last);
  bool heard = false;
  for (const auto& series : selection.series) {
    samples.clear();
    series->ForEach(first - lookback, last, [&](const series::Sample& s) { samples.push_back(s); });
    heard = heard || !samples.empty();
    std::vector<series::Sample> points;
    size_t next = 0;
    for (size_t i = 0; i < steps_.count(); ++i) {
      const int64_t reference = Reference(shift, steps_.at(i));
      while (next < samples.size() && samples[next].time_ms <= reference) ++next;
      if (next == 0) continue;
      const series::Sample& newest = samples[next - 1];
      if (newest.time_ms < reference - lookback || series::IsStaleMarker(newest.value)) continue;
      points.push_back(
          {steps_.at(i), sample_times ? static_cast<double>(newest.time_ms) / 1000 : newest.value});
    }
    if (!shared_.Spend(samples.size() + points.size())) return {};
    if (!points.empty()) matrix.push_back({LabelSet(series->shared_labels()), std::move(points)});
  }
  // That there is nothing is only known of what was recorded all the time, or has ended.
  Need(selection, heard ? first : first - lookback);
  return matrix;
}

Matrix Evaluator::Nameless(Matrix matrix) {
  if (DropNames(matrix) && !MergeSameLabels(matrix)) shared_.Fail(kSameLabels);
  return matrix;
}

Matrix Evaluator::Negate(Matrix matrix) {
  for (SeriesValues& series : matrix) {
    for (series::Sample& point : series.points) point.value = -point.value;
  }
  if (DropNames(matrix) && HasSameLabels(matrix)) shared_.Fail(kSameLabels);
  return matrix;
}

Matrix Evaluator::EvaluateVector(const Expr& expr) {
  if (!shared_.Spend(0) || steps_.count() == 0) return {};
  return std::visit(Overloaded{
                        [&](const VectorSelector& selector) { return Instant(selector, false); },
                        [&](const Call& call) { return CallVector(call); },
                        [&](const Aggregate& aggregate) { return AggregateVector(aggregate); },
                        [&](const Binary& binary) { return BinaryVector(binary); },
                        [&](const Unary& unary) {
                          Matrix matrix = EvaluateVector(*unary.expr);
                          return unary.negate ? Negate(std::move(matrix)) : matrix;
                        },
                        [&](const Paren& paren) { return EvaluateVector(*paren.expr); },
                        [](const auto&) { return Matrix(); },  // of another type
                    },
                    expr.node);
}

std::vector<double> Evaluator::EvaluateScalar(const Expr& expr) {
  const size_t count = steps_.count();
  if (!shared_.Spend(count)) return {};
  std::vector<double> values(count, 0.0);
  if (const auto* number = std::get_if<NumberLiteral>(&expr.node)) {
    std::ranges::fill(values, number->value);
  } else if (const auto* paren = std::get_if<Paren>(&expr.node)) {
    return EvaluateScalar(*paren->expr);
  } else if (const auto* unary = std::get_if<Unary>(&expr.node)) {
    values = EvaluateScalar(*unary->expr);
    if (unary->negate) {
      for (double& value : values) value = -value;
    }
  } else if (const auto* binary = std::get_if<Binary>(&expr.node)) {
    const std::vector<double> lhs = EvaluateScalar(*binary->lhs);
    const std::vector<double> rhs = EvaluateScalar(*binary->rhs);
    if (failed()) return {};
    for (size_t i = 0; i < count; ++i) {
      const Outcome outcome = Operate(binary->op, lhs[i], rhs[i]);
      values[i] = IsComparison(binary->op) ? (outcome.keep ? 1 : 0) : outcome.value;
    }
  } else if (const auto* call = std::get_if<Call>(&expr.node)) {
    if (call->function->id == FunctionId::kPi) {
      std::ranges::fill(values, M_PI);
    } else if (call->function->id == FunctionId::kTime) {
      for (size_t i = 0; i < count; ++i) values[i] = static_cast<double>(steps_.at(i)) / 1000;
    } else {
      const Matrix matrix = EvaluateVector(*call->args[0]);
      if (failed()) return {};
      std::vector<int> found(count, 0);
      std::ranges::fill(values, std::numeric_limits<double>::quiet_NaN());
      for (const SeriesValues& series : matrix) {
        for (const series::Sample& point : series.points) {
          const size_t i = steps_.index(point.time_ms);
          values[i] = ++found[i] == 1 ? point.value : std::numeric_limits<double>::quiet_NaN();
        }
      }
    }
  }
  return values;
}

LabelSet LabelsOfAbsent(const Expr& arg) {
  const Expr& inner = Unwrap(arg);
  const series::Matchers* matchers = nullptr;
  if (const auto* vector = std::get_if<VectorSelector>(&inner.node)) matchers = &vector->matchers;
  if (const auto* matrix = std::get_if<MatrixSelector>(&inner.node)) {
    matchers = &matrix->selector.matchers;
  }
  if (matchers == nullptr) return {};
  // A label with two conditions is left out, unless an equality follows other kinds.
  std::vector<metric::Labels::Entry> entries;
  std::vector<std::string> equal;
  for (const series::Matcher& matcher : *matchers) {
    if (matcher.label() == series::kNameLabel) continue;
    if (matcher.op() == series::Matcher::Op::kEqual &&
        std::ranges::find(equal, matcher.label()) == equal.end()) {
      entries.emplace_back(matcher.label(), matcher.value());
      equal.push_back(matcher.label());
    } else {
      std::erase_if(entries, [&](const auto& entry) { return entry.first == matcher.label(); });
    }
  }
  return LabelSet(std::move(entries));
}

}  // namespace activescale::promql
