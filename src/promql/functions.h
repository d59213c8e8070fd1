#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "promql/value_type.h"

namespace activescale::promql {

enum class FunctionId : uint8_t {
  // Of each value of an instant vector.
  kAbs,
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCeil,
  kCos,
  kCosh,
  kDeg,
  kExp,
  kFloor,
  kLn,
  kLog10,
  kLog2,
  kRad,
  kRound,
  kSgn,
  kSin,
  kSinh,
  kSqrt,
  kTan,
  kTanh,
  kClamp,
  kClampMax,
  kClampMin,
  kDaysInMonth,
  kDayOfMonth,
  kDayOfWeek,
  kDayOfYear,
  kHour,
  kMinute,
  kMonth,
  kYear,
  // Of an instant vector as a whole.
  kAbsent,
  kHistogramQuantile,
  kLabelJoin,
  kLabelReplace,
  kSort,
  kSortDesc,
  kTimestamp,
  // Between scalars and vectors.
  kPi,
  kScalar,
  kTime,
  kVector,
  // Of a range.
  kAbsentOverTime,
  kAvgOverTime,
  kChanges,
  kCountOverTime,
  kDelta,
  kDeriv,
  kIdelta,
  kIncrease,
  kIrate,
  kLastOverTime,
  kMaxOverTime,
  kMinOverTime,
  kPredictLinear,
  kPresentOverTime,
  kQuantileOverTime,
  kRate,
  kResets,
  kStddevOverTime,
  kStdvarOverTime,
  kSumOverTime,
};

/// What the parser needs to know of a function.
struct Function {
  FunctionId id;
  std::string_view name;
  ValueType result;
  std::span<const ValueType> args;
  /// How many of the last argument may be left out (0 or 1), or -1: it repeats, and may be absent.
  int optional;
};

/// Nothing if there is none of this name, or none that we support.
[[nodiscard]] const Function* FindFunction(std::string_view name);

/// Functions and aggregations of Prometheus that are refused by name.
[[nodiscard]] bool IsUnsupportedName(std::string_view name);

}  // namespace activescale::promql
