#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "promql/dialect.h"
#include "promql/functions.h"
#include "promql/value_type.h"
#include "series/matcher.h"

namespace activescale::promql {

/// Bytes [start, end) of the query's text.
struct Position {
  uint32_t start = 0;
  uint32_t end = 0;
};

/// The moment that `@` pins a selector or subquery to.
struct AtModifier {
  enum class Kind : uint8_t { kNone, kTime, kStart, kEnd };
  Kind kind = Kind::kNone;
  int64_t time_ms = 0;  // of kTime
};

/// `offset` and `@`, which shift the moment of a selector or subquery.
struct Shift {
  int64_t offset_ns = 0;
  AtModifier at;
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct NumberLiteral {
  double value = 0;
};

struct StringLiteral {
  std::string value;
};

struct VectorSelector {
  std::string name;  // before the braces; also among the matchers
  series::Matchers matchers;
  Shift shift;
};

struct MatrixSelector {
  VectorSelector selector;
  int64_t range_ns = 0;
};

struct Subquery {
  ExprPtr expr;
  int64_t range_ns = 0;
  int64_t step_ns = 0;  // 0: the engine's default
  Shift shift;
};

struct Call {
  const Function* function = nullptr;
  std::vector<ExprPtr> args;
};

enum class AggregateOp : uint8_t {
  kSum,
  kAvg,
  kCount,
  kMin,
  kMax,
  kGroup,
  kStddev,
  kStdvar,
  kTopk,
  kBottomk,
  kCountValues,
  kQuantile,
};

struct Aggregate {
  AggregateOp op = AggregateOp::kSum;
  ExprPtr expr;
  ExprPtr param;                      // of topk, bottomk, count_values and quantile
  std::vector<std::string> grouping;  // sorted
  bool without = false;
};

enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kPow,
  kAtan2,
  kEqual,
  kNotEqual,
  kGreater,
  kLess,
  kGreaterEqual,
  kLessEqual,
  kAnd,
  kOr,
  kUnless,
};

[[nodiscard]] constexpr bool IsComparison(BinaryOp op) {
  return op >= BinaryOp::kEqual && op <= BinaryOp::kLessEqual;
}
[[nodiscard]] constexpr bool IsSetOperator(BinaryOp op) { return op >= BinaryOp::kAnd; }
/// Whether the result is no longer the metric, so that its name goes. Prometheus 2 forgets atan2.
[[nodiscard]] constexpr bool DropsName(BinaryOp op, Dialect dialect) {
  return op < BinaryOp::kAtan2 || (op == BinaryOp::kAtan2 && dialect == Dialect::kPrometheus3);
}

struct VectorMatching {
  enum class Cardinality : uint8_t { kOneToOne, kManyToOne, kOneToMany };
  Cardinality cardinality = Cardinality::kOneToOne;
  bool on = false;                  // else `ignoring`
  std::vector<std::string> labels;  // sorted
  std::vector<std::string> include;
};

struct Binary {
  BinaryOp op = BinaryOp::kAdd;
  ExprPtr lhs;
  ExprPtr rhs;
  bool return_bool = false;
  VectorMatching matching;  // of two vectors
};

struct Unary {
  bool negate = false;
  ExprPtr expr;
};

struct Paren {
  ExprPtr expr;
};

/// One node of a query; well typed when it comes from Parse.
struct Expr {
  std::variant<NumberLiteral, StringLiteral, VectorSelector, MatrixSelector, Subquery, Call,
               Aggregate, Binary, Unary, Paren>
      node;
  Position position;
  ValueType type = ValueType::kScalar;
  uint32_t depth = 1;  // nodes on the longest way down
};

/// The expression inside of any parentheses.
[[nodiscard]] const Expr& Unwrap(const Expr& expr);

}  // namespace activescale::promql
