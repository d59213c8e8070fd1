#pragma once

#include <cmath>

#include "promql/ast.h"

namespace activescale::promql {

/// What an operator makes of two values: arithmetic gives a value, a comparison keeps its left
/// value or not.
struct Outcome {
  double value = 0;
  bool keep = true;
};

/// `op` is no set operator.
[[nodiscard]] inline Outcome Operate(BinaryOp op, double lhs, double rhs) {
  switch (op) {
    case BinaryOp::kAdd:
      return {lhs + rhs, true};
    case BinaryOp::kSub:
      return {lhs - rhs, true};
    case BinaryOp::kMul:
      return {lhs * rhs, true};
    case BinaryOp::kDiv:
      return {lhs / rhs, true};
    case BinaryOp::kMod:
      return {std::fmod(lhs, rhs), true};
    case BinaryOp::kPow:
      return {std::pow(lhs, rhs), true};
    case BinaryOp::kAtan2:
      return {std::atan2(lhs, rhs), true};
    case BinaryOp::kEqual:
      return {lhs, lhs == rhs};
    case BinaryOp::kNotEqual:
      return {lhs, lhs != rhs};
    case BinaryOp::kGreater:
      return {lhs, lhs > rhs};
    case BinaryOp::kLess:
      return {lhs, lhs < rhs};
    case BinaryOp::kGreaterEqual:
      return {lhs, lhs >= rhs};
    case BinaryOp::kLessEqual:
      return {lhs, lhs <= rhs};
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kUnless:
      break;
  }
  return {0, false};
}

}  // namespace activescale::promql
