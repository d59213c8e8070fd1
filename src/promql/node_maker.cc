#include "promql/node_maker.h"

#include <algorithm>

#include "promql/literal.h"
#include "promql/parser.h"

namespace activescale::promql {
namespace {

/// As messages name a type; longer than TypeName.
std::string_view Documented(ValueType type) {
  constexpr std::string_view kNames[] = {"scalar", "instant vector", "range vector", "string"};
  return kNames[static_cast<size_t>(type)];
}

bool IsNumeric(ValueType type) { return type == ValueType::kScalar || type == ValueType::kVector; }

std::string Quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

}  // namespace

std::nullptr_t NodeMaker::Fail(Position at, std::string_view message) {
  if (!error_) error_ = ParseError(query_, at.start, message);
  return nullptr;
}

bool NodeMaker::TooDeep(Position position, uint32_t depth) {
  if (depth <= kMaxDepth) return false;
  Fail(position, kTooDeep);
  return true;
}

std::optional<std::string> NodeMaker::Unquoted(const Token& token) {
  auto text = Unquote(token.text);
  if (text) return std::move(*text);
  Fail(token, text.error().message);
  return std::nullopt;
}

bool NodeMaker::AddMatcher(series::Matchers& matchers, const Token& at, series::Matcher::Op op,
                           std::string label, std::string value) {
  auto matcher = series::Matcher::Make(op, std::move(label), std::move(value));
  if (!matcher) {
    Fail(at, matcher.error().message);
    return false;
  }
  matchers.push_back(std::move(*matcher));
  return true;
}

bool NodeMaker::Expect(const Expr& arg, ValueType want, std::string_view context) {
  if (arg.type == want) return true;
  Fail(arg.position, "expected type " + std::string(Documented(want)) + " in " +
                         std::string(context) + ", got " + std::string(Documented(arg.type)));
  return false;
}

ExprPtr NodeMaker::MakeParen(ExprPtr inner, const Token& open, const Token& close) {
  const ValueType type = inner->type;
  const uint32_t depth = inner->depth + 1;
  return Make(Paren{std::move(inner)}, {open.position.start, close.position.end}, type, depth);
}

ExprPtr NodeMaker::MakeUnary(const Token& sign, ExprPtr operand) {
  if (!IsNumeric(operand->type)) {
    return Fail(sign,
                "unary expression only allowed on expressions of type scalar or instant "
                "vector, got " +
                    Quoted(Documented(operand->type)));
  }
  const bool negate = sign.kind == TokenKind::kSub;
  const Position position{sign.position.start, operand->position.end};
  if (auto* number = std::get_if<NumberLiteral>(&operand->node)) {
    if (negate) number->value = -number->value;
    operand->position = position;
    return operand;
  }
  const ValueType type = operand->type;
  const uint32_t depth = operand->depth + 1;
  return Make(Unary{negate, std::move(operand)}, position, type, depth);
}

bool NodeMaker::CheckBinary(const Token& at, BinaryOp op, const BinaryModifiers& modifiers,
                            const Expr& lhs, const Expr& rhs) {
  const VectorMatching& matching = modifiers.matching;
  const bool vectors = lhs.type == ValueType::kVector && rhs.type == ValueType::kVector;
  const bool scalars = lhs.type == ValueType::kScalar && rhs.type == ValueType::kScalar;
  std::string fault;
  if (!IsNumeric(lhs.type) || !IsNumeric(rhs.type)) {
    fault = "binary expression must contain only scalar and instant vector types";
  } else if (modifiers.return_bool && !IsComparison(op)) {
    fault = "bool modifier can only be used on comparison operators";
  } else if (IsComparison(op) && scalars && !modifiers.return_bool) {
    fault = "comparisons between scalars must use BOOL modifier";
  } else if (!vectors && IsSetOperator(op)) {
    fault = "set operator " + Quoted(at.text) + " not allowed in binary scalar expression";
  } else if (!vectors && !matching.labels.empty()) {
    fault = "vector matching only allowed between instant vectors";
  } else if (IsSetOperator(op) && matching.cardinality != VectorMatching::Cardinality::kOneToOne) {
    fault = "no grouping allowed for " + Quoted(at.text) + " operation";
  } else if (matching.on) {
    for (const std::string& label : matching.include) {
      if (std::ranges::count(matching.labels, label) == 0) continue;
      fault = "label " + Quoted(label) + " must not occur in ON and GROUP clause at once";
    }
  }
  if (fault.empty()) return true;
  Fail(at, fault);
  return false;
}

ExprPtr NodeMaker::MakeBinary(const Token& at, BinaryOp op, BinaryModifiers modifiers, ExprPtr lhs,
                              ExprPtr rhs) {
  if (!CheckBinary(at, op, modifiers, *lhs, *rhs)) return nullptr;
  const bool scalars = lhs->type == ValueType::kScalar && rhs->type == ValueType::kScalar;
  const Position position{lhs->position.start, rhs->position.end};
  const uint32_t depth = std::max(lhs->depth, rhs->depth) + 1;
  std::ranges::sort(modifiers.matching.labels);
  return Make(Binary{op, std::move(lhs), std::move(rhs), modifiers.return_bool,
                     std::move(modifiers.matching)},
              position, scalars ? ValueType::kScalar : ValueType::kVector, depth);
}

bool NodeMaker::CheckArgumentCount(const Function& function, size_t count, Position position) {
  const size_t most = function.args.size();
  const size_t least = function.optional == 0 ? most : most - 1;
  if (count >= least && (count <= most || function.optional < 0)) return true;
  const std::string_view bound = function.optional == 0 ? ""
                                 : count < least        ? "at least "
                                                        : "at most ";
  Fail(position, "expected " + std::string(bound) + std::to_string(count < least ? least : most) +
                     " argument(s) in call to " + Quoted(function.name) + ", got " +
                     std::to_string(count));
  return false;
}

ExprPtr NodeMaker::MakeCall(const Function& function, std::vector<ExprPtr> args, const Token& name,
                            const Token& close) {
  const Position position{name.position.start, close.position.end};
  if (!CheckArgumentCount(function, args.size(), position)) return nullptr;
  uint32_t depth = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    const ValueType want = function.args[std::min(i, function.args.size() - 1)];
    if (!Expect(*args[i], want, "call to function " + Quoted(function.name))) return nullptr;
    depth = std::max(depth, args[i]->depth);
  }
  return Make(Call{&function, std::move(args)}, position, function.result, depth + 1);
}

ExprPtr NodeMaker::MakeAggregate(Aggregate aggregate, std::vector<ExprPtr> args, const Token& name,
                                 const Token& close) {
  const Position position{name.position.start, close.position.end};
  const bool has_param = aggregate.op >= AggregateOp::kTopk;
  const size_t want = has_param ? 2 : 1;
  if (args.empty()) return Fail(position, "no arguments for aggregate expression provided");
  if (args.size() != want) {
    return Fail(position, "wrong number of arguments for aggregate expression provided, expected " +
                              std::to_string(want) + ", got " + std::to_string(args.size()));
  }
  aggregate.expr = std::move(args.back());
  uint32_t depth = aggregate.expr->depth;
  if (!Expect(*aggregate.expr, ValueType::kVector, "aggregation expression")) return nullptr;
  if (has_param) {
    aggregate.param = std::move(args.front());
    const bool text = aggregate.op == AggregateOp::kCountValues;
    if (!Expect(*aggregate.param, text ? ValueType::kString : ValueType::kScalar,
                "aggregation parameter")) {
      return nullptr;
    }
    depth = std::max(depth, aggregate.param->depth);
  }
  return Make(std::move(aggregate), position, ValueType::kVector, depth + 1);
}

ExprPtr NodeMaker::MakeSelector(VectorSelector selector, const Token& first, const Token& last) {
  const Position position{first.position.start, last.position.end};
  const auto names_metric = [](const series::Matcher& m) {
    return m.label() == series::kNameLabel;
  };
  if (!selector.name.empty()) {
    if (std::ranges::any_of(selector.matchers, names_metric)) {
      return Fail(position, "metric name must not be set twice: " + Quoted(selector.name));
    }
    AddMatcher(selector.matchers, first, series::Matcher::Op::kEqual,
               std::string(series::kNameLabel), selector.name);
  } else if (std::ranges::all_of(selector.matchers,
                                 [](const series::Matcher& m) { return m.Matches(""); })) {
    return Fail(position, "vector selector must contain at least one non-empty matcher");
  }
  return Make(std::move(selector), position, ValueType::kVector);
}

ExprPtr NodeMaker::MakeMatrix(ExprPtr expr, int64_t range_ns, const Token& open,
                              const Token& close) {
  auto* const selector = std::get_if<VectorSelector>(&expr->node);
  if (selector == nullptr) return Fail(open, "ranges only allowed for vector selectors");
  if (selector->shift.offset_ns != 0) {
    return Fail(open, "no offset modifiers allowed before range");
  }
  if (selector->shift.at.kind == AtModifier::Kind::kTime) {
    return Fail(open, "no @ modifiers allowed before range");
  }
  return Make(MatrixSelector{std::move(*selector), range_ns},
              {expr->position.start, close.position.end}, ValueType::kMatrix);
}

ExprPtr NodeMaker::MakeSubquery(ExprPtr expr, int64_t range_ns, int64_t step_ns,
                                const Token& close) {
  if (expr->type != ValueType::kVector) {
    return Fail(expr->position, "subquery is only allowed on instant vector, got " +
                                    std::string(TypeName(expr->type)) + " instead");
  }
  const Position position{expr->position.start, close.position.end};
  const uint32_t depth = expr->depth + 1;
  return Make(Subquery{std::move(expr), range_ns, step_ns, {}}, position, ValueType::kMatrix,
              depth);
}

Shift* NodeMaker::ShiftOf(Expr& expr, std::string_view modifier) {
  if (auto* vector = std::get_if<VectorSelector>(&expr.node)) return &vector->shift;
  if (auto* matrix = std::get_if<MatrixSelector>(&expr.node)) return &matrix->selector.shift;
  if (auto* subquery = std::get_if<Subquery>(&expr.node)) return &subquery->shift;
  return Fail(expr.position, std::string(modifier) +
                                 " modifier must be preceded by an instant vector selector or "
                                 "range vector selector or a subquery");
}

ExprPtr NodeMaker::SetOffset(ExprPtr expr, int64_t offset_ns, const Token& last) {
  Shift* const shift = ShiftOf(*expr, "offset");
  if (shift == nullptr) return nullptr;
  if (shift->offset_ns != 0) return Fail(expr->position, "offset may not be set multiple times");
  shift->offset_ns = offset_ns;
  expr->position.end = last.position.end;
  return expr;
}

ExprPtr NodeMaker::SetAt(ExprPtr expr, AtModifier at, const Token& last) {
  Shift* const shift = ShiftOf(*expr, "@");
  if (shift == nullptr) return nullptr;
  if (shift->at.kind != AtModifier::Kind::kNone) {
    return Fail(expr->position, "@ <timestamp> may not be set multiple times");
  }
  shift->at = at;
  expr->position.end = last.position.end;
  return expr;
}

}  // namespace activescale::promql
