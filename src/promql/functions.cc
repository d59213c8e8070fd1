#include "promql/functions.h"

#include <algorithm>
#include <array>

namespace activescale::promql {
namespace {

using Id = FunctionId;

constexpr auto kS = ValueType::kScalar;
constexpr auto kV = ValueType::kVector;
constexpr auto kM = ValueType::kMatrix;
constexpr auto kT = ValueType::kString;

constexpr std::array kOfVector{kV};
constexpr std::array kOfMatrix{kM};
constexpr std::array kOfScalar{kS};
constexpr std::array kOfVectorScalar{kV, kS};
constexpr std::array kOfVectorTwoScalars{kV, kS, kS};
constexpr std::array kOfScalarVector{kS, kV};
constexpr std::array kOfScalarMatrix{kS, kM};
constexpr std::array kOfMatrixScalar{kM, kS};
constexpr std::array kOfLabelReplace{kV, kT, kT, kT, kT};
constexpr std::array kOfLabelJoin{kV, kT, kT, kT};

/// Source: prometheus/prometheus:promql/parser/functions.go. Sorted by name.
constexpr std::array kFunctions = std::to_array<Function>({
    {Id::kAbs, "abs", kV, kOfVector, 0},
    {Id::kAbsent, "absent", kV, kOfVector, 0},
    {Id::kAbsentOverTime, "absent_over_time", kV, kOfMatrix, 0},
    {Id::kAcos, "acos", kV, kOfVector, 0},
    {Id::kAcosh, "acosh", kV, kOfVector, 0},
    {Id::kAsin, "asin", kV, kOfVector, 0},
    {Id::kAsinh, "asinh", kV, kOfVector, 0},
    {Id::kAtan, "atan", kV, kOfVector, 0},
    {Id::kAtanh, "atanh", kV, kOfVector, 0},
    {Id::kAvgOverTime, "avg_over_time", kV, kOfMatrix, 0},
    {Id::kCeil, "ceil", kV, kOfVector, 0},
    {Id::kChanges, "changes", kV, kOfMatrix, 0},
    {Id::kClamp, "clamp", kV, kOfVectorTwoScalars, 0},
    {Id::kClampMax, "clamp_max", kV, kOfVectorScalar, 0},
    {Id::kClampMin, "clamp_min", kV, kOfVectorScalar, 0},
    {Id::kCos, "cos", kV, kOfVector, 0},
    {Id::kCosh, "cosh", kV, kOfVector, 0},
    {Id::kCountOverTime, "count_over_time", kV, kOfMatrix, 0},
    {Id::kDayOfMonth, "day_of_month", kV, kOfVector, 1},
    {Id::kDayOfWeek, "day_of_week", kV, kOfVector, 1},
    {Id::kDayOfYear, "day_of_year", kV, kOfVector, 1},
    {Id::kDaysInMonth, "days_in_month", kV, kOfVector, 1},
    {Id::kDeg, "deg", kV, kOfVector, 0},
    {Id::kDelta, "delta", kV, kOfMatrix, 0},
    {Id::kDeriv, "deriv", kV, kOfMatrix, 0},
    {Id::kExp, "exp", kV, kOfVector, 0},
    {Id::kFloor, "floor", kV, kOfVector, 0},
    {Id::kHistogramQuantile, "histogram_quantile", kV, kOfScalarVector, 0},
    {Id::kHour, "hour", kV, kOfVector, 1},
    {Id::kIdelta, "idelta", kV, kOfMatrix, 0},
    {Id::kIncrease, "increase", kV, kOfMatrix, 0},
    {Id::kIrate, "irate", kV, kOfMatrix, 0},
    {Id::kLabelJoin, "label_join", kV, kOfLabelJoin, -1},
    {Id::kLabelReplace, "label_replace", kV, kOfLabelReplace, 0},
    {Id::kLastOverTime, "last_over_time", kV, kOfMatrix, 0},
    {Id::kLn, "ln", kV, kOfVector, 0},
    {Id::kLog10, "log10", kV, kOfVector, 0},
    {Id::kLog2, "log2", kV, kOfVector, 0},
    {Id::kMaxOverTime, "max_over_time", kV, kOfMatrix, 0},
    {Id::kMinOverTime, "min_over_time", kV, kOfMatrix, 0},
    {Id::kMinute, "minute", kV, kOfVector, 1},
    {Id::kMonth, "month", kV, kOfVector, 1},
    {Id::kPi, "pi", kS, {}, 0},
    {Id::kPredictLinear, "predict_linear", kV, kOfMatrixScalar, 0},
    {Id::kPresentOverTime, "present_over_time", kV, kOfMatrix, 0},
    {Id::kQuantileOverTime, "quantile_over_time", kV, kOfScalarMatrix, 0},
    {Id::kRad, "rad", kV, kOfVector, 0},
    {Id::kRate, "rate", kV, kOfMatrix, 0},
    {Id::kResets, "resets", kV, kOfMatrix, 0},
    {Id::kRound, "round", kV, kOfVectorScalar, 1},
    {Id::kScalar, "scalar", kS, kOfVector, 0},
    {Id::kSgn, "sgn", kV, kOfVector, 0},
    {Id::kSin, "sin", kV, kOfVector, 0},
    {Id::kSinh, "sinh", kV, kOfVector, 0},
    {Id::kSort, "sort", kV, kOfVector, 0},
    {Id::kSortDesc, "sort_desc", kV, kOfVector, 0},
    {Id::kSqrt, "sqrt", kV, kOfVector, 0},
    {Id::kStddevOverTime, "stddev_over_time", kV, kOfMatrix, 0},
    {Id::kStdvarOverTime, "stdvar_over_time", kV, kOfMatrix, 0},
    {Id::kSumOverTime, "sum_over_time", kV, kOfMatrix, 0},
    {Id::kTan, "tan", kV, kOfVector, 0},
    {Id::kTanh, "tanh", kV, kOfVector, 0},
    {Id::kTime, "time", kS, {}, 0},
    {Id::kTimestamp, "timestamp", kV, kOfVector, 0},
    {Id::kVector, "vector", kV, kOfScalar, 0},
    {Id::kYear, "year", kV, kOfVector, 1},
});
static_assert(std::ranges::is_sorted(kFunctions, {}, &Function::name));

/// Native histograms, what Prometheus itself calls experimental, and what it has removed.
constexpr std::string_view kUnsupported[] = {"double_exponential_smoothing",
                                             "histogram_avg",
                                             "histogram_count",
                                             "histogram_fraction",
                                             "histogram_stddev",
                                             "histogram_stdvar",
                                             "histogram_sum",
                                             "holt_winters",
                                             "info",
                                             "limit_ratio",
                                             "limitk",
                                             "mad_over_time",
                                             "sort_by_label",
                                             "sort_by_label_desc",
                                             "ts_of_last_over_time",
                                             "ts_of_max_over_time",
                                             "ts_of_min_over_time"};

}  // namespace

const Function* FindFunction(std::string_view name) {
  const auto* const at = std::ranges::lower_bound(kFunctions, name, {}, &Function::name);
  return at != kFunctions.end() && at->name == name ? at : nullptr;
}

bool IsUnsupportedName(std::string_view name) {
  return std::ranges::find(kUnsupported, name) != std::end(kUnsupported);
}

std::string_view TypeName(ValueType type) {
  constexpr std::string_view kNames[] = {"scalar", "vector", "matrix", "string"};
  return kNames[static_cast<size_t>(type)];
}

}  // namespace activescale::promql
