#include "promql/parser.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "promql/lexer.h"
#include "promql/literal.h"
#include "promql/node_maker.h"
#include "promql/token_stream.h"

namespace activescale::promql {
namespace {

struct BinaryOpInfo {
  TokenKind kind;
  std::string_view word;  // of a kIdentifier
  BinaryOp op;
  int precedence;
};
constexpr int kMultiplyPrecedence = 5;
constexpr int kPowerPrecedence = 6;
constexpr BinaryOpInfo kBinaryOps[] = {
    {TokenKind::kIdentifier, "or", BinaryOp::kOr, 1},
    {TokenKind::kIdentifier, "and", BinaryOp::kAnd, 2},
    {TokenKind::kIdentifier, "unless", BinaryOp::kUnless, 2},
    {TokenKind::kEqual, "", BinaryOp::kEqual, 3},
    {TokenKind::kNotEqual, "", BinaryOp::kNotEqual, 3},
    {TokenKind::kGreater, "", BinaryOp::kGreater, 3},
    {TokenKind::kLess, "", BinaryOp::kLess, 3},
    {TokenKind::kGreaterEqual, "", BinaryOp::kGreaterEqual, 3},
    {TokenKind::kLessEqual, "", BinaryOp::kLessEqual, 3},
    {TokenKind::kAdd, "", BinaryOp::kAdd, 4},
    {TokenKind::kSub, "", BinaryOp::kSub, 4},
    {TokenKind::kMul, "", BinaryOp::kMul, kMultiplyPrecedence},
    {TokenKind::kDiv, "", BinaryOp::kDiv, kMultiplyPrecedence},
    {TokenKind::kMod, "", BinaryOp::kMod, kMultiplyPrecedence},
    {TokenKind::kIdentifier, "atan2", BinaryOp::kAtan2, kMultiplyPrecedence},
    {TokenKind::kPow, "", BinaryOp::kPow, kPowerPrecedence},
};

constexpr std::pair<std::string_view, AggregateOp> kAggregates[] = {
    {"sum", AggregateOp::kSum},
    {"avg", AggregateOp::kAvg},
    {"count", AggregateOp::kCount},
    {"min", AggregateOp::kMin},
    {"max", AggregateOp::kMax},
    {"group", AggregateOp::kGroup},
    {"stddev", AggregateOp::kStddev},
    {"stdvar", AggregateOp::kStdvar},
    {"topk", AggregateOp::kTopk},
    {"bottomk", AggregateOp::kBottomk},
    {"count_values", AggregateOp::kCountValues},
    {"quantile", AggregateOp::kQuantile}};

/// Keywords that cannot stand for a metric's name.
constexpr std::string_view kNoMetricNames[] = {"bool",       "on",          "ignoring",
                                               "group_left", "group_right", "atan2"};

class Parser : private TokenStream {
 public:
  Parser(std::string_view query, Dialect dialect, std::vector<Token> tokens)
      : TokenStream(std::move(tokens)), dialect_(dialect), make_(query) {}

  base::Result<ExprPtr> Run() {
    ExprPtr expr;
    if (Is(TokenKind::kEnd)) {
      make_.Fail(Now(), "no expression found in input");
    } else {
      expr = ParseBinary(0);
    }
    if (expr && !Is(TokenKind::kEnd)) Unexpected("");
    if (make_.error()) return std::unexpected(*make_.error());
    return expr;
  }

 private:
  bool Expect(TokenKind kind, std::string_view what) {
    if (Accept(kind)) return true;
    Unexpected(what);
    return false;
  }
  std::nullptr_t Unexpected(std::string_view wanted) {
    std::string message = Is(TokenKind::kEnd) ? "unexpected end of input"
                                              : "unexpected '" + std::string(Now().text) + "'";
    if (!wanted.empty()) message += ", expected " + std::string(wanted);
    return make_.Fail(Now(), message);
  }

  [[nodiscard]] const BinaryOpInfo* BinaryOpNow() const {
    for (const BinaryOpInfo& info : kBinaryOps) {
      if (Now().kind != info.kind) continue;
      if (info.word.empty() || EqualsIgnoringCase(Now().text, info.word)) return &info;
    }
    return nullptr;
  }

  ExprPtr ParseBinary(int least_precedence) {
    if (++depth_ > kMaxDepth) return make_.Fail(Now(), kTooDeep);
    ExprPtr lhs = ParseUnary();
    while (lhs) {
      const BinaryOpInfo* const info = BinaryOpNow();
      if (info == nullptr || info->precedence < least_precedence) break;
      const Token op = Take();
      BinaryModifiers modifiers;
      if (!ParseModifiers(modifiers)) return nullptr;
      // Only the power groups to the right.
      ExprPtr rhs = ParseBinary(info->precedence == kPowerPrecedence ? kPowerPrecedence
                                                                     : info->precedence + 1);
      if (!rhs) return nullptr;
      lhs = make_.MakeBinary(op, info->op, std::move(modifiers), std::move(lhs), std::move(rhs));
    }
    --depth_;
    return lhs;
  }

  bool ParseModifiers(BinaryModifiers& out) {
    out.return_bool = AcceptWord("bool");
    const bool on = IsWord(Now(), "on");
    if (!on && !IsWord(Now(), "ignoring")) return true;
    Take();
    out.matching.on = on;
    if (!ParseGrouping(out.matching.labels)) return false;
    using Cardinality = VectorMatching::Cardinality;
    if (AcceptWord("group_left")) {
      out.matching.cardinality = Cardinality::kManyToOne;
    } else if (AcceptWord("group_right")) {
      out.matching.cardinality = Cardinality::kOneToMany;
    } else {
      return true;
    }
    return !Is(TokenKind::kLeftParen) || ParseGrouping(out.matching.include);
  }

  /// `(a, b)`, also empty and with a comma at the end.
  bool ParseGrouping(std::vector<std::string>& labels) {
    if (!Expect(TokenKind::kLeftParen, "\"(\" in grouping opts")) return false;
    while (!Accept(TokenKind::kRightParen)) {
      if (!ParseGroupingLabel(labels)) return false;
      if (Accept(TokenKind::kComma)) continue;
      if (Accept(TokenKind::kRightParen)) break;
      Unexpected("\",\" or \")\" in grouping opts");
      return false;
    }
    return true;
  }

  bool ParseGroupingLabel(std::vector<std::string>& labels) {
    const Token label = Now();
    if (label.kind == TokenKind::kString && dialect_ == Dialect::kPrometheus3) {
      const auto name = make_.Unquoted(Take());
      if (!name) return false;
      if (!IsLabelName(*name, dialect_)) {
        make_.Fail(label, "invalid label name for grouping: '" + *name + "'");
        return false;
      }
      labels.push_back(*name);
      return true;
    }
    const bool metric = label.kind == TokenKind::kMetricIdentifier;
    if ((label.kind != TokenKind::kIdentifier && !metric) || IsWord(label, "without") ||
        (metric && dialect_ == Dialect::kPrometheus2)) {
      Unexpected("label in grouping opts");
      return false;
    }
    labels.emplace_back(Take().text);
    return true;
  }

  ExprPtr ParseUnary() {
    if (!Is(TokenKind::kAdd) && !Is(TokenKind::kSub)) return ParsePostfix(ParsePrimary());
    const Token sign = Take();
    ExprPtr operand = ParseBinary(kPowerPrecedence);
    return operand ? make_.MakeUnary(sign, std::move(operand)) : nullptr;
  }

  ExprPtr ParsePostfix(ExprPtr expr) {
    while (expr) {
      if (Is(TokenKind::kLeftBracket)) {
        expr = ParseRange(std::move(expr));
      } else if (IsWord(Now(), "offset")) {
        expr = ParseOffset(std::move(expr));
      } else if (Is(TokenKind::kAt)) {
        expr = ParseAt(std::move(expr));
      } else {
        break;
      }
    }
    return expr;
  }

  /// A duration in nanoseconds, or a number of seconds in Prometheus 3, with a sign where allowed.
  std::optional<int64_t> ParseDuration(bool sign_allowed) {
    const bool v3 = dialect_ == Dialect::kPrometheus3;
    bool negative = false;
    for (bool more = sign_allowed; more && (Is(TokenKind::kAdd) || Is(TokenKind::kSub));
         more = v3) {
      negative ^= Take().kind == TokenKind::kSub;
    }
    const Token token = Now();
    std::optional<double> seconds;
    if (token.kind == TokenKind::kDuration) {
      const auto ns = ParseDurationNs(token.text);
      if (!ns || (*ns == 0 && !v3)) {
        make_.Fail(token, "not a valid duration: '" + std::string(token.text) + "'");
        return std::nullopt;
      }
      Take();
      return negative ? -*ns : *ns;
    }
    if (token.kind == TokenKind::kNumber && v3) {
      seconds = ParseNumber(token.text);
      constexpr double kLargest = 9223372036.0;
      if (!seconds || !(std::abs(*seconds) <= kLargest)) {
        make_.Fail(token, "duration out of range");
        return std::nullopt;
      }
      Take();
      const double ns = std::round(*seconds * 1e9);
      return static_cast<int64_t>(negative ? -ns : ns);
    }
    if (Is(TokenKind::kLeftParen)) {
      make_.Fail(token, "arithmetic in durations is not supported");
    } else {
      Unexpected("duration");
    }
    return std::nullopt;
  }

  ExprPtr ParseRange(ExprPtr expr) {
    const Token open = Take();
    const bool v3 = dialect_ == Dialect::kPrometheus3;
    const auto range = ParseDuration(v3);
    if (!range) return nullptr;
    if (*range <= 0) return make_.Fail(open, "duration must be greater than 0");
    if (Accept(TokenKind::kColon)) {
      int64_t step = 0;
      if (!Is(TokenKind::kRightBracket)) {
        const auto parsed = ParseDuration(v3);
        if (!parsed) return nullptr;
        if (*parsed <= 0) return make_.Fail(open, "duration must be greater than 0");
        step = *parsed;
      }
      const Token close = Now();
      if (!Expect(TokenKind::kRightBracket, "\"]\" in subquery selector")) return nullptr;
      return make_.MakeSubquery(std::move(expr), *range, step, close);
    }
    const Token close = Now();
    if (!Expect(TokenKind::kRightBracket, "\":\" or \"]\" in subquery or range")) return nullptr;
    return make_.MakeMatrix(std::move(expr), *range, open, close);
  }

  ExprPtr ParseOffset(ExprPtr expr) {
    Take();
    const auto offset = ParseDuration(true);
    if (!offset) return nullptr;
    return make_.SetOffset(std::move(expr), *offset, Before());
  }

  ExprPtr ParseAt(ExprPtr expr) {
    Take();
    AtModifier at;
    const bool start = IsWord(Now(), "start");
    if (start || IsWord(Now(), "end")) {
      Take();
      if (!Expect(TokenKind::kLeftParen, "\"(\"")) return nullptr;
      if (!Expect(TokenKind::kRightParen, "\")\"")) return nullptr;
      at.kind = start ? AtModifier::Kind::kStart : AtModifier::Kind::kEnd;
      return make_.SetAt(std::move(expr), at, Before());
    }
    const bool negative = Is(TokenKind::kSub);
    if (negative || Is(TokenKind::kAdd)) Take();
    const Token number = Now();
    const auto seconds = ParseNumberLiteral();
    if (!seconds) return nullptr;
    const double time = negative ? -*seconds : *seconds;
    constexpr double kLargest = 9223372036854775807.0;
    if (!(std::abs(time) < kLargest)) {
      return make_.Fail(number, "timestamp out of bounds for @ modifier");
    }
    at.kind = AtModifier::Kind::kTime;
    const double ms = std::round(time * 1000);
    // Room is left for ranges and offsets to be added.
    constexpr double kLargestMs = 4e18;
    at.time_ms = static_cast<int64_t>(std::clamp(ms, -kLargestMs, kLargestMs));
    return make_.SetAt(std::move(expr), at, number);
  }

  /// A number, or a duration as its seconds in Prometheus 3.
  std::optional<double> ParseNumberLiteral() {
    const Token token = Now();
    std::optional<double> value;
    if (token.kind == TokenKind::kNumber) {
      value = ParseNumber(token.text);
    } else if (token.kind == TokenKind::kDuration && dialect_ == Dialect::kPrometheus3) {
      const auto ns = ParseDurationNs(token.text);
      if (ns) value = static_cast<double>(*ns) / 1e9;
    } else {
      Unexpected("number");
      return std::nullopt;
    }
    if (!value) {
      make_.Fail(token, "error parsing number: '" + std::string(token.text) + "'");
      return std::nullopt;
    }
    Take();
    return value;
  }

  ExprPtr ParsePrimary() {
    const Token token = Now();
    switch (token.kind) {
      case TokenKind::kNumber:
      case TokenKind::kDuration: {
        const auto value = ParseNumberLiteral();
        return value ? make_.Make(NumberLiteral{*value}, token.position, ValueType::kScalar)
                     : nullptr;
      }
      case TokenKind::kString: {
        auto text = make_.Unquoted(Take());
        return text
                   ? make_.Make(StringLiteral{std::move(*text)}, token.position, ValueType::kString)
                   : nullptr;
      }
      case TokenKind::kLeftParen: {
        Take();
        ExprPtr inner = ParseBinary(0);
        if (!inner) return nullptr;
        const Token close = Now();
        if (!Expect(TokenKind::kRightParen, "\")\"")) return nullptr;
        return make_.MakeParen(std::move(inner), token, close);
      }
      case TokenKind::kLeftBrace:
        return ParseSelector("", token);
      case TokenKind::kMetricIdentifier:
        return ParseSelector(Take().text, token);
      case TokenKind::kIdentifier:
        return ParseWord();
      default:
        return Unexpected("");
    }
  }

  ExprPtr ParseWord() {
    const Token word = Now();
    const TokenKind next = Next().kind;
    const bool grouped = IsWord(Next(), "by") || IsWord(Next(), "without");
    for (const auto& [name, op] : kAggregates) {
      if (EqualsIgnoringCase(word.text, name) && (next == TokenKind::kLeftParen || grouped)) {
        Take();
        return ParseAggregate(word, op);
      }
    }
    const auto is_word = [&](std::string_view other) {
      return EqualsIgnoringCase(word.text, other);
    };
    if (std::ranges::any_of(kNoMetricNames, is_word)) return Unexpected("");
    if (next == TokenKind::kLeftParen || (grouped && IsUnsupportedName(word.text))) {
      Take();
      return ParseCall(word);
    }
    return ParseSelector(Take().text, word);
  }

  bool ParseArguments(std::vector<ExprPtr>& args, Token& close) {
    if (!Expect(TokenKind::kLeftParen, "\"(\"")) return false;
    close = Now();
    if (Accept(TokenKind::kRightParen)) return true;
    while (true) {
      ExprPtr arg = ParseBinary(0);
      if (!arg) return false;
      args.push_back(std::move(arg));
      close = Now();
      if (Accept(TokenKind::kRightParen)) return true;
      if (!Expect(TokenKind::kComma, "\",\" or \")\"")) return false;
      if (Is(TokenKind::kRightParen)) {
        make_.Fail(Now(), "trailing commas not allowed in function call args");
        return false;
      }
    }
  }

  ExprPtr ParseCall(const Token& name) {
    const Function* const function = FindFunction(name.text);
    if (function == nullptr) {
      return make_.Fail(name, IsUnsupportedName(name.text)
                                  ? "'" + std::string(name.text) + "' is not supported"
                                  : "unknown function with name '" + std::string(name.text) + "'");
    }
    std::vector<ExprPtr> args;
    Token close;
    if (!ParseArguments(args, close)) return nullptr;
    return make_.MakeCall(*function, std::move(args), name, close);
  }

  bool ParseBy(Aggregate& aggregate) {
    const bool by = IsWord(Now(), "by");
    if (!by && !IsWord(Now(), "without")) return true;
    Take();
    aggregate.without = !by;
    return ParseGrouping(aggregate.grouping);
  }

  ExprPtr ParseAggregate(const Token& name, AggregateOp op) {
    Aggregate aggregate;
    aggregate.op = op;
    const bool grouped_before = !Is(TokenKind::kLeftParen);
    if (grouped_before && !ParseBy(aggregate)) return nullptr;
    std::vector<ExprPtr> args;
    Token close;
    if (!ParseArguments(args, close)) return nullptr;
    if (!grouped_before && !ParseBy(aggregate)) return nullptr;
    std::ranges::sort(aggregate.grouping);
    return make_.MakeAggregate(std::move(aggregate), std::move(args), name, Before());
  }

  ExprPtr ParseSelector(std::string_view name, const Token& first) {
    VectorSelector selector;
    selector.name = name;
    Token last = first;
    if (Accept(TokenKind::kLeftBrace)) {
      while (!Is(TokenKind::kRightBrace)) {
        if (!ParseMatcher(selector.matchers)) return nullptr;
        if (Accept(TokenKind::kComma)) continue;
        if (!Is(TokenKind::kRightBrace)) return Unexpected("\",\" or \"}\" in label matching");
      }
      last = Take();
    }
    return make_.MakeSelector(std::move(selector), first, last);
  }

  bool ParseMatcher(series::Matchers& matchers) {
    const Token label = Now();
    std::string name(label.text);
    const bool quoted = label.kind == TokenKind::kString && dialect_ == Dialect::kPrometheus3;
    if (quoted) {
      const auto text = make_.Unquoted(label);
      if (!text) return false;
      name = *text;
    } else if (label.kind != TokenKind::kIdentifier) {
      Unexpected("identifier or \"}\" in label matching");
      return false;
    }
    Take();
    using Op = series::Matcher::Op;
    Op op = Op::kEqual;
    switch (Now().kind) {
      case TokenKind::kAssign:
        break;
      case TokenKind::kNotEqual:
        op = Op::kNotEqual;
        break;
      case TokenKind::kMatch:
        op = Op::kMatch;
        break;
      case TokenKind::kNotMatch:
        op = Op::kNotMatch;
        break;
      default:
        if (quoted) return make_.AddMatcher(matchers, label, op, "__name__", name);
        Unexpected("label matching operator");
        return false;
    }
    Take();
    const Token value = Now();
    if (!Expect(TokenKind::kString, "string in label matching")) return false;
    const auto text = make_.Unquoted(value);
    return text && make_.AddMatcher(matchers, label, op, std::move(name), *text);
  }

  const Dialect dialect_;
  uint32_t depth_ = 0;
  NodeMaker make_;
};

}  // namespace

const Expr& Unwrap(const Expr& expr) {
  const Expr* inner = &expr;
  while (const auto* paren = std::get_if<Paren>(&inner->node)) inner = paren->expr.get();
  return *inner;
}

base::Result<ExprPtr> Parse(std::string_view query, Dialect dialect) {
  auto tokens = Lex(query, dialect);
  if (!tokens) return std::unexpected(std::move(tokens.error()));
  return Parser(query, dialect, std::move(*tokens)).Run();
}

}  // namespace activescale::promql
