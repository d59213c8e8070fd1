#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "promql/ast.h"
#include "promql/lexer.h"

namespace activescale::promql {

inline constexpr std::string_view kTooDeep = "the expression is nested too deeply";

/// What stands between an operator and its right side.
struct BinaryModifiers {
  bool return_bool = false;
  VectorMatching matching;
};

/// Builds the nodes of one query and checks their types. The first fault is kept; each function
/// returns null (or false, or nothing) when it finds one.
/// Source: prometheus/prometheus:promql/parser/parse.go, checkAST.
class NodeMaker {
 public:
  explicit NodeMaker(std::string_view query) : query_(query) {}

  [[nodiscard]] const std::optional<base::Error>& error() const { return error_; }
  std::nullptr_t Fail(const Token& at, std::string_view message) {
    return Fail(at.position, message);
  }
  std::nullptr_t Fail(Position at, std::string_view message);

  [[nodiscard]] std::optional<std::string> Unquoted(const Token& token);
  bool AddMatcher(series::Matchers& matchers, const Token& at, series::Matcher::Op op,
                  std::string label, std::string value);

  template <typename Node>
  ExprPtr Make(Node node, Position position, ValueType type, uint32_t depth = 1) {
    if (TooDeep(position, depth)) return nullptr;
    return std::make_unique<Expr>(Expr{std::move(node), position, type, depth});
  }
  ExprPtr MakeParen(ExprPtr inner, const Token& open, const Token& close);
  ExprPtr MakeUnary(const Token& sign, ExprPtr operand);
  ExprPtr MakeBinary(const Token& at, BinaryOp op, BinaryModifiers modifiers, ExprPtr lhs,
                     ExprPtr rhs);
  ExprPtr MakeCall(const Function& function, std::vector<ExprPtr> args, const Token& name,
                   const Token& close);
  ExprPtr MakeAggregate(Aggregate aggregate, std::vector<ExprPtr> args, const Token& name,
                        const Token& close);
  ExprPtr MakeSelector(VectorSelector selector, const Token& first, const Token& last);
  ExprPtr MakeMatrix(ExprPtr expr, int64_t range_ns, const Token& open, const Token& close);
  ExprPtr MakeSubquery(ExprPtr expr, int64_t range_ns, int64_t step_ns, const Token& close);
  ExprPtr SetOffset(ExprPtr expr, int64_t offset_ns, const Token& last);
  ExprPtr SetAt(ExprPtr expr, AtModifier at, const Token& last);

 private:
  bool TooDeep(Position position, uint32_t depth);
  /// Whether `arg` has the type that `context` wants.
  bool Expect(const Expr& arg, ValueType want, std::string_view context);
  bool CheckBinary(const Token& at, BinaryOp op, const BinaryModifiers& modifiers, const Expr& lhs,
                   const Expr& rhs);
  bool CheckArgumentCount(const Function& function, size_t count, Position position);
  /// Where `modifier` is kept; null, after Fail, if the expression takes none.
  Shift* ShiftOf(Expr& expr, std::string_view modifier);

  const std::string_view query_;
  std::optional<base::Error> error_;
};

}  // namespace activescale::promql
