// Binary operators between vectors, and between vectors and scalars.

#include <unordered_map>
#include <utility>

#include "promql/binary_ops.h"
#include "promql/evaluator.h"

namespace activescale::promql {
namespace {

using Cardinality = VectorMatching::Cardinality;

/// The number of each series' match group; equal numbers match.
std::vector<size_t> MatchGroups(const Matrix& matrix, const VectorMatching& matching,
                                Numbering& groups) {
  std::vector<size_t> numbers;
  numbers.reserve(matrix.size());
  for (const SeriesValues& series : matrix) {
    numbers.push_back(groups.Of(matching.on ? series.labels.KeyOf(matching.labels)
                                            : series.labels.KeyWithout(matching.labels)));
  }
  return numbers;
}

/// Marks match groups anew for each step, without clearing.
class Marks {
 public:
  explicit Marks(size_t groups) : step_(groups, 0), series_(groups, 0) {}
  void NextStep() { ++now_; }
  [[nodiscard]] bool Has(size_t group) const { return step_[group] == now_; }
  void Set(size_t group, size_t series = 0) {
    step_[group] = now_;
    series_[group] = series;
  }
  [[nodiscard]] size_t series(size_t group) const { return series_[group]; }

 private:
  std::vector<size_t> step_;
  std::vector<size_t> series_;
  size_t now_ = 0;
};

LabelSet ResultLabels(const Binary& binary, Dialect dialect, const LabelSet& many,
                      const LabelSet& one) {
  const VectorMatching& matching = binary.matching;
  LabelSet labels = many;
  if (DropsName(binary.op, dialect)) labels = labels.WithoutName();
  if (matching.cardinality == Cardinality::kOneToOne) {
    if (matching.on) {
      labels = labels.Keep(matching.labels);
    } else {
      for (const std::string& label : matching.labels) labels = labels.With(label, "");
    }
  }
  for (const std::string& label : matching.include) labels = labels.With(label, one.Get(label));
  return binary.return_bool ? labels.WithoutName() : labels;
}

}  // namespace

Matrix Evaluator::BinaryVector(const Binary& binary) {
  if (binary.lhs->type == ValueType::kScalar) {
    const std::vector<double> scalars = EvaluateScalar(*binary.lhs);
    return WithScalar(binary, EvaluateVector(*binary.rhs), scalars, true);
  }
  Matrix lhs = EvaluateVector(*binary.lhs);
  if (binary.rhs->type == ValueType::kScalar) {
    return WithScalar(binary, std::move(lhs), EvaluateScalar(*binary.rhs), false);
  }
  const Matrix rhs = EvaluateVector(*binary.rhs);
  if (failed()) return {};
  return IsSetOperator(binary.op) ? SetOperation(binary, lhs, rhs) : Match(binary, lhs, rhs);
}

Matrix Evaluator::WithScalar(const Binary& binary, Matrix vector,
                             const std::vector<double>& scalars, bool scalar_left) {
  if (failed()) return {};
  for (SeriesValues& series : vector) {
    std::vector<series::Sample> points;
    points.reserve(series.points.size());
    for (const series::Sample& point : series.points) {
      const double scalar = scalars[steps_.index(point.time_ms)];
      Outcome outcome = scalar_left ? Operate(binary.op, scalar, point.value)
                                    : Operate(binary.op, point.value, scalar);
      // A comparison keeps the vector's value, whichever side it is on.
      if (IsComparison(binary.op)) outcome.value = point.value;
      if (binary.return_bool) outcome = {outcome.keep ? 1.0 : 0.0, true};
      if (outcome.keep) points.push_back({point.time_ms, outcome.value});
    }
    series.points = std::move(points);
  }
  std::erase_if(vector, [](const SeriesValues& series) { return series.points.empty(); });
  if (DropsName(binary.op, shared_.options.dialect) || binary.return_bool)
    return Nameless(std::move(vector));
  return vector;
}

Matrix Evaluator::SetOperation(const Binary& binary, const Matrix& lhs, const Matrix& rhs) {
  Numbering groups;
  const std::vector<size_t> left_groups = MatchGroups(lhs, binary.matching, groups);
  const std::vector<size_t> right_groups = MatchGroups(rhs, binary.matching, groups);
  Marks left(groups.size());
  Marks right(groups.size());
  StepCursor left_values(lhs);
  StepCursor right_values(rhs);
  MatrixBuilder builder;
  const auto add = [&](const LabelSet& labels, int64_t time, double value) {
    if (!builder.Add(builder.SeriesOf(labels), time, value)) shared_.Fail(kSameLabels);
  };
  for (size_t step = 0; step < steps_.count() && shared_.Spend(0); ++step) {
    const int64_t time = steps_.at(step);
    left.NextStep();
    right.NextStep();
    std::vector<std::pair<size_t, double>> rights;
    for (size_t i = 0; i < rhs.size(); ++i) {
      const double* value = right_values.At(i, time);
      if (value == nullptr) continue;
      right.Set(right_groups[i]);
      if (binary.op == BinaryOp::kOr) rights.emplace_back(i, *value);
    }
    for (size_t i = 0; i < lhs.size(); ++i) {
      const double* value = left_values.At(i, time);
      if (value == nullptr) continue;
      left.Set(left_groups[i]);
      const bool matched = right.Has(left_groups[i]);
      if (binary.op == BinaryOp::kOr || matched == (binary.op == BinaryOp::kAnd)) {
        add(lhs[i].labels, time, *value);
      }
    }
    for (const auto& [i, value] : rights) {
      if (!left.Has(right_groups[i])) add(rhs[i].labels, time, value);
    }
  }
  return builder.Take();
}

Matrix Evaluator::Match(const Binary& binary, const Matrix& lhs, const Matrix& rhs) {
  // From here on `one` is the side of which a match group has one series, and `many` the other.
  const bool swapped = binary.matching.cardinality == Cardinality::kOneToMany;
  const Matrix& many = swapped ? rhs : lhs;
  const Matrix& one = swapped ? lhs : rhs;
  Numbering groups;
  const std::vector<size_t> many_groups = MatchGroups(many, binary.matching, groups);
  const std::vector<size_t> one_groups = MatchGroups(one, binary.matching, groups);
  Marks ones(groups.size());
  Marks matched(groups.size());
  StepCursor many_values(many);
  StepCursor one_values(one);
  std::vector<double> one_now(one.size());
  std::unordered_map<size_t, size_t> results;  // many * size + one -> series of the builder
  MatrixBuilder builder;
  for (size_t step = 0; step < steps_.count() && shared_.Spend(0); ++step) {
    const int64_t time = steps_.at(step);
    ones.NextStep();
    matched.NextStep();
    std::vector<std::pair<size_t, double>> lefts;
    for (size_t i = 0; i < many.size(); ++i) {
      if (const double* value = many_values.At(i, time)) lefts.emplace_back(i, *value);
    }
    if (lefts.empty()) continue;
    for (size_t i = 0; i < one.size(); ++i) {
      const double* value = one_values.At(i, time);
      if (value == nullptr) continue;
      if (ones.Has(one_groups[i])) {
        shared_.Fail("found duplicate series for the match group on the " +
                     std::string(swapped ? "left" : "right") +
                     " hand-side of the operation; many-to-many matching not allowed: matching "
                     "labels must be unique on one side");
        return {};
      }
      ones.Set(one_groups[i], i);
      one_now[i] = *value;
    }
    for (const auto& [i, value] : lefts) {
      const size_t group = many_groups[i];
      if (!ones.Has(group)) continue;
      const size_t partner = ones.series(group);
      const double other = one_now[partner];
      Outcome outcome =
          swapped ? Operate(binary.op, other, value) : Operate(binary.op, value, other);
      if (binary.return_bool) outcome = {outcome.keep ? 1.0 : 0.0, true};
      if (!outcome.keep) continue;
      if (binary.matching.cardinality == Cardinality::kOneToOne && matched.Has(group)) {
        shared_.Fail(
            "multiple matches for labels: many-to-one matching must be explicit "
            "(group_left/group_right)");
        return {};
      }
      matched.Set(group);
      const auto [result, fresh] = results.emplace(i * one.size() + partner, 0);
      if (fresh) {
        result->second = builder.SeriesOf(
            ResultLabels(binary, shared_.options.dialect, many[i].labels, one[partner].labels));
      }
      if (!builder.Add(result->second, time, outcome.value)) {
        shared_.Fail("multiple matches for labels: grouping labels must ensure unique matches");
        return {};
      }
    }
  }
  return builder.Take();
}

}  // namespace activescale::promql
