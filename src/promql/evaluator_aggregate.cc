// Aggregations.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "promql/evaluator.h"
#include "promql/literal.h"
#include "promql/numeric.h"

namespace activescale::promql {
namespace {

using Op = AggregateOp;

/// What one group has at one step.
class Accumulator {
 public:
  explicit Accumulator(Dialect dialect) : dialect_(dialect) {}

  void Add(Op op, double value) {
    const bool first = count_ == 0;
    count_ += 1;
    switch (op) {
      case Op::kSum:
        sum_.Add(value);
        break;
      case Op::kAvg:
        mean_.Add(value);
        break;
      case Op::kMin:
        if (first || value < extreme_ || std::isnan(extreme_)) extreme_ = value;
        break;
      case Op::kMax:
        if (first || value > extreme_ || std::isnan(extreme_)) extreme_ = value;
        break;
      case Op::kStddev:
      case Op::kStdvar:
        AddToVariance(first, value);
        break;
      case Op::kQuantile:
        values_.push_back(value);
        break;
      default:
        break;
    }
  }

  [[nodiscard]] bool empty() const { return count_ == 0; }

  [[nodiscard]] double Value(Op op, double param) {
    switch (op) {
      case Op::kSum:
        return sum_.value();
      case Op::kAvg:
        return mean_.value();
      case Op::kMin:
      case Op::kMax:
        return extreme_;
      case Op::kCount:
        return count_;
      case Op::kStdvar:
        return squares_ / count_;
      case Op::kStddev:
        return std::sqrt(squares_ / count_);
      case Op::kQuantile:
        return Quantile(param, values_);
      default:
        return 1;
    }
  }

  void Clear() {
    count_ = 0;
    sum_ = {};
    mean_ = {};
    values_.clear();
  }

 private:
  /// Without compensation, as the real engine has it here, unlike over time.
  void AddToVariance(bool first, double value) {
    if (first) {
      mean_rough_ = value;
      // Prometheus 2 calls a single NaN or infinity without variance.
      const bool defined = std::isfinite(value) || dialect_ == Dialect::kPrometheus2;
      squares_ = defined ? 0 : std::numeric_limits<double>::quiet_NaN();
      return;
    }
    const double delta = value - mean_rough_;
    mean_rough_ += delta / count_;
    squares_ += delta * (value - mean_rough_);
  }

  Dialect dialect_;
  double count_ = 0;
  CompensatedSum sum_;
  CompensatedMean mean_;
  double extreme_ = 0;
  double mean_rough_ = 0;
  double squares_ = 0;
  std::vector<double> values_;
};

std::string GroupKey(const LabelSet& labels, const std::vector<std::string>& grouping,
                     bool without) {
  return without ? labels.KeyWithout(grouping) : labels.KeyOf(grouping);
}

LabelSet GroupLabels(const LabelSet& labels, const std::vector<std::string>& grouping,
                     bool without) {
  return without ? labels.Without(grouping) : labels.Keep(grouping);
}

/// The group of each series, and the labels of each group where `labels` is not null.
std::vector<size_t> GroupSeries(const Aggregate& aggregate, const Matrix& input, size_t& count,
                                std::vector<LabelSet>* labels) {
  if (aggregate.grouping.empty() && !aggregate.without) {  // one group of all
    count = input.empty() ? 0 : 1;
    if (labels != nullptr) labels->resize(count);
    return std::vector<size_t>(input.size(), 0);
  }
  Numbering groups;
  std::vector<size_t> group_of;
  group_of.reserve(input.size());
  for (const SeriesValues& series : input) {
    const size_t before = groups.size();
    group_of.push_back(groups.Of(GroupKey(series.labels, aggregate.grouping, aggregate.without)));
    if (labels != nullptr && groups.size() != before) {
      labels->push_back(GroupLabels(series.labels, aggregate.grouping, aggregate.without));
    }
  }
  count = groups.size();
  return group_of;
}

}  // namespace

Matrix Evaluator::AggregateVector(const Aggregate& aggregate) {
  std::vector<double> params;
  const bool count_values = aggregate.op == Op::kCountValues;
  if (aggregate.param && !count_values) params = EvaluateScalar(*aggregate.param);
  const Matrix input = EvaluateVector(*aggregate.expr);
  if (failed()) return {};
  if (count_values) return CountValues(aggregate, input);
  if (aggregate.op == Op::kTopk || aggregate.op == Op::kBottomk) {
    return LargestOrSmallest(aggregate, input, params);
  }
  size_t count = 0;
  std::vector<LabelSet> labels;
  const std::vector<size_t> group_of = GroupSeries(aggregate, input, count, &labels);
  std::vector<Accumulator> accumulators(count, Accumulator(shared_.options.dialect));
  Matrix output(count);
  for (size_t group = 0; group < count; ++group) output[group].labels = labels[group];
  StepCursor values(input);
  for (size_t step = 0; step < steps_.count() && shared_.Spend(count); ++step) {
    const int64_t time = steps_.at(step);
    for (size_t i = 0; i < input.size(); ++i) {
      const double* value = values.At(i, time);
      if (value != nullptr) accumulators[group_of[i]].Add(aggregate.op, *value);
    }
    for (size_t group = 0; group < count; ++group) {
      Accumulator& accumulator = accumulators[group];
      if (accumulator.empty()) continue;
      const double param = params.empty() ? 0 : params[step];
      output[group].points.push_back({time, accumulator.Value(aggregate.op, param)});
      accumulator.Clear();
    }
  }
  std::erase_if(output, [](const SeriesValues& series) { return series.points.empty(); });
  return output;
}

Matrix Evaluator::CountValues(const Aggregate& aggregate, const Matrix& input) {
  const std::string& label = std::get<StringLiteral>(Unwrap(*aggregate.param).node).value;
  if (!IsLabelName(label, shared_.options.dialect)) {
    shared_.Fail("invalid label name \"" + label + "\" in count_values()");
    return {};
  }
  std::vector<std::string> grouping = aggregate.grouping;
  if (!aggregate.without) grouping.push_back(label);
  StepCursor values(input);
  MatrixBuilder builder;
  for (size_t step = 0; step < steps_.count() && shared_.Spend(input.size()); ++step) {
    std::vector<std::pair<size_t, double>> counts;  // series of the builder -> how many
    for (size_t i = 0; i < input.size(); ++i) {
      const double* value = values.At(i, steps_.at(step));
      if (value == nullptr) continue;
      const LabelSet valued = input[i].labels.With(label, FormatPlain(*value));
      const size_t series = builder.SeriesOf(GroupLabels(valued, grouping, aggregate.without));
      const auto found = std::ranges::find(counts, series, &std::pair<size_t, double>::first);
      if (found == counts.end()) {
        counts.emplace_back(series, 1);
      } else {
        found->second += 1;
      }
    }
    for (const auto& [series, count] : counts) {
      if (!builder.Add(series, steps_.at(step), count)) shared_.Fail(kSameLabels);
    }
  }
  return builder.Take();
}

/// Of equal values the series that comes first is taken.
Matrix Evaluator::LargestOrSmallest(const Aggregate& aggregate, const Matrix& input,
                                    const std::vector<double>& params) {
  const double sign = aggregate.op == Op::kTopk ? 1 : -1;
  size_t count = 0;
  const std::vector<size_t> group_of = GroupSeries(aggregate, input, count, nullptr);
  using Candidate = std::pair<double, size_t>;  // value, series
  std::vector<std::vector<Candidate>> groups(count);
  StepCursor values(input);
  MatrixBuilder builder;
  for (size_t step = 0; step < steps_.count() && shared_.Spend(input.size()); ++step) {
    for (auto& group : groups) group.clear();
    bool any = false;
    for (size_t i = 0; i < input.size(); ++i) {
      const double* value = values.At(i, steps_.at(step));
      if (value == nullptr) continue;
      groups[group_of[i]].emplace_back(*value, i);
      any = true;
    }
    constexpr double kTooLarge = 9223372036854775808.0;
    if (any && !(params[step] < kTooLarge && params[step] >= -kTooLarge)) {
      shared_.Fail("scalar value " + FormatValue(params[step]) + " overflows int64");
      return {};
    }
    const double wanted = std::max(0.0, std::trunc(params[step]));
    for (auto& group : groups) {
      std::ranges::stable_sort(group, [&](const Candidate& a, const Candidate& b) {
        if (std::isnan(a.first)) return false;
        return std::isnan(b.first) || sign * a.first > sign * b.first;
      });
      for (size_t i = 0; i < group.size() && static_cast<double>(i) < wanted; ++i) {
        const size_t series = builder.SeriesOf(input[group[i].second].labels);
        if (!builder.Add(series, steps_.at(step), group[i].first)) shared_.Fail(kSameLabels);
      }
    }
  }
  return builder.Take();
}

}  // namespace activescale::promql
