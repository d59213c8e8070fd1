// Functions of instant vectors: of each value, and of the vector as a whole.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "promql/evaluator.h"
#include "promql/histogram_quantile.h"
#include "promql/numeric.h"

namespace activescale::promql {
namespace {

using Id = FunctionId;

double Sign(double value) { return value < 0 ? -1 : value > 0 ? 1 : value; }

double RoundTo(double value, double step) {
  const double per_one = 1.0 / step;
  return std::floor(value * per_one + 0.5) / per_one;
}

/// Of NaN and a bound without limit the bound wins; else NaN does. Source: Go's math.Max.
double Larger(double a, double b) {
  if (a == kInfinity || b == kInfinity) return kInfinity;
  if (std::isnan(a) || std::isnan(b)) return kNan;
  return std::max(a, b);
}

double Clamp(double value, double low, double high) { return Larger(low, -Larger(-high, -value)); }

double Apply(Id id, double value) {
  switch (id) {
    case Id::kAbs:
      return std::abs(value);
    case Id::kAcos:
      return std::acos(value);
    case Id::kAcosh:
      return std::acosh(value);
    case Id::kAsin:
      return std::asin(value);
    case Id::kAsinh:
      return std::asinh(value);
    case Id::kAtan:
      return std::atan(value);
    case Id::kAtanh:
      return std::atanh(value);
    case Id::kCeil:
      return std::ceil(value);
    case Id::kCos:
      return std::cos(value);
    case Id::kCosh:
      return std::cosh(value);
    case Id::kDeg:
      return value * 180 / M_PI;
    case Id::kExp:
      return std::exp(value);
    case Id::kFloor:
      return std::floor(value);
    case Id::kLn:
      return std::log(value);
    case Id::kLog10:
      return std::log10(value);
    case Id::kLog2:
      return std::log2(value);
    case Id::kRad:
      return value * M_PI / 180;
    case Id::kSgn:
      return Sign(value);
    case Id::kSin:
      return std::sin(value);
    case Id::kSinh:
      return std::sinh(value);
    case Id::kSqrt:
      return std::sqrt(value);
    case Id::kTan:
      return std::tan(value);
    case Id::kTanh:
      return std::tanh(value);
    default:
      return kNan;
  }
}

/// Of a time in seconds since the epoch, in UTC.
double DatePart(Id id, double seconds) {
  using namespace std::chrono;       // NOLINT(google-build-using-namespace)
  constexpr double kLargest = 9e11;  // year 30,000: the calendar's types end soon after
  if (!(std::abs(seconds) < kLargest)) return kNan;
  const sys_seconds time{std::chrono::seconds(static_cast<int64_t>(seconds))};
  const sys_days day = floor<days>(time);
  const year_month_day date(day);
  const auto second_of_day = (time - day).count();
  switch (id) {
    case Id::kDaysInMonth:
      return static_cast<unsigned>((date.year() / date.month() / last).day());
    case Id::kDayOfMonth:
      return static_cast<unsigned>(date.day());
    case Id::kDayOfWeek:
      return weekday(day).c_encoding();
    case Id::kDayOfYear:
      return static_cast<double>((day - sys_days(date.year() / January / 1)).count() + 1);
    case Id::kHour:
      return static_cast<double>(int64_t{second_of_day / 3600});
    case Id::kMinute:
      return static_cast<double>(int64_t{second_of_day / 60 % 60});
    case Id::kMonth:
      return static_cast<unsigned>(date.month());
    default:
      return static_cast<int>(date.year());
  }
}

}  // namespace

Matrix Evaluator::CallVector(const Call& call) {
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i]->type == ValueType::kMatrix) return CallOnRange(call, i);
  }
  switch (call.function->id) {
    case Id::kVector:
      return {{LabelSet(), AtEachStep(EvaluateScalar(*call.args[0]))}};
    case Id::kAbsent:
      return Absence(EvaluateVector(*call.args[0]), LabelsOfAbsent(*call.args[0]));
    case Id::kSort:
      return Sorted(EvaluateVector(*call.args[0]), false);
    case Id::kSortDesc:
      return Sorted(EvaluateVector(*call.args[0]), true);
    case Id::kTimestamp:
      return Timestamp(*call.args[0]);
    case Id::kHistogramQuantile:
      return HistogramQuantile(call);
    case Id::kLabelReplace:
      return LabelReplace(call);
    case Id::kLabelJoin:
      return LabelJoin(call);
    case Id::kDaysInMonth:
    case Id::kDayOfMonth:
    case Id::kDayOfWeek:
    case Id::kDayOfYear:
    case Id::kHour:
    case Id::kMinute:
    case Id::kMonth:
    case Id::kYear:
      return Dates(call);
    default:
      return MapValues(call);
  }
}

Matrix Evaluator::MapValues(const Call& call) {
  const Id id = call.function->id;
  Matrix matrix = EvaluateVector(*call.args[0]);
  std::vector<std::vector<double>> params;
  for (size_t i = 1; i < call.args.size(); ++i) params.push_back(EvaluateScalar(*call.args[i]));
  if (failed()) return {};
  for (SeriesValues& series : matrix) {
    if (id == Id::kClamp) {
      std::erase_if(series.points, [&](const series::Sample& point) {
        const size_t i = steps_.index(point.time_ms);
        return params[1][i] < params[0][i];
      });
    }
    for (series::Sample& point : series.points) {
      const size_t i = steps_.index(point.time_ms);
      double& value = point.value;
      if (id == Id::kRound) {
        value = RoundTo(value, params.empty() ? 1 : params[0][i]);
      } else if (id == Id::kClamp) {
        value = Clamp(value, params[0][i], params[1][i]);
      } else if (id == Id::kClampMin) {
        value = Clamp(value, params[0][i], kInfinity);
      } else if (id == Id::kClampMax) {
        value = Clamp(value, -kInfinity, params[0][i]);
      } else {
        value = Apply(id, value);
      }
    }
  }
  std::erase_if(matrix, [](const SeriesValues& series) { return series.points.empty(); });
  return Nameless(std::move(matrix));
}

Matrix Evaluator::Dates(const Call& call) {
  Matrix matrix;
  if (call.args.empty()) {
    std::vector<double> times(steps_.count());
    for (size_t i = 0; i < times.size(); ++i)
      times[i] = std::floor(static_cast<double>(steps_.at(i)) / 1000);
    matrix.push_back({LabelSet(), AtEachStep(times)});
  } else {
    matrix = EvaluateVector(*call.args[0]);
  }
  for (SeriesValues& series : matrix) {
    for (series::Sample& point : series.points) {
      point.value = DatePart(call.function->id, point.value);
    }
  }
  return Nameless(std::move(matrix));
}

Matrix Evaluator::Timestamp(const Expr& arg) {
  if (const auto* selector = std::get_if<VectorSelector>(&Unwrap(arg).node)) {
    return Nameless(Instant(*selector, true));
  }
  Matrix matrix = EvaluateVector(arg);
  for (SeriesValues& series : matrix) {
    for (series::Sample& point : series.points) {
      point.value = static_cast<double>(point.time_ms) / 1000;
    }
  }
  return Nameless(std::move(matrix));
}

/// By value, NaN last in both directions. The series of a range have no order among each other.
Matrix Evaluator::Sorted(Matrix matrix, bool descending) const {
  if (steps_.count() != 1) return matrix;
  std::ranges::stable_sort(matrix, [&](const SeriesValues& a, const SeriesValues& b) {
    const double left = a.points[0].value;
    const double right = b.points[0].value;
    if (std::isnan(left) || std::isnan(right)) return !std::isnan(left) && std::isnan(right);
    return descending ? left > right : left < right;
  });
  return matrix;
}

Matrix Evaluator::HistogramQuantile(const Call& call) {
  const std::vector<double> quantiles = EvaluateScalar(*call.args[0]);
  const Matrix input = EvaluateVector(*call.args[1]);
  if (failed()) return {};
  const std::string bound_label = "le";
  Numbering groups;
  MatrixBuilder builder;
  struct Source {
    size_t series;
    size_t group;
    double upper_bound;
  };
  std::vector<Source> sources;
  std::vector<size_t> results;  // of each group
  for (size_t i = 0; i < input.size(); ++i) {
    const auto bound = ParseBucketBound(input[i].labels.Get(bound_label));
    if (!bound) continue;
    const LabelSet rest = input[i].labels.With(bound_label, "");
    const size_t group = groups.Of(rest.Key());
    if (group == results.size()) results.push_back(builder.SeriesOf(rest.WithoutName()));
    sources.push_back({i, group, *bound});
  }
  StepCursor values(input);
  for (size_t step = 0; step < steps_.count() && shared_.Spend(0); ++step) {
    std::vector<std::vector<Bucket>> buckets(groups.size());
    for (const Source& source : sources) {
      const double* value = values.At(source.series, steps_.at(step));
      if (value != nullptr) buckets[source.group].push_back({source.upper_bound, *value});
    }
    for (size_t group = 0; group < buckets.size(); ++group) {
      if (buckets[group].empty()) continue;
      const double quantile =
          BucketQuantile(quantiles[step], std::move(buckets[group]), shared_.options.dialect);
      if (!builder.Add(results[group], steps_.at(step), quantile)) shared_.Fail(kSameLabels);
    }
  }
  return builder.Take();
}

}  // namespace activescale::promql
