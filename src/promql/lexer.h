#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "promql/ast.h"
#include "promql/dialect.h"

namespace activescale::promql {

enum class TokenKind : uint8_t {
  kEnd,
  kLeftParen,
  kRightParen,
  kLeftBrace,
  kRightBrace,
  kLeftBracket,
  kRightBracket,
  kComma,
  kColon,
  kAssign,    // "="
  kMatch,     // "=~"
  kNotMatch,  // "!~"
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kPow,
  kEqual,     // "=="
  kNotEqual,  // "!="
  kGreater,
  kLess,
  kGreaterEqual,
  kLessEqual,
  kAt,
  kString,
  kNumber,
  kDuration,
  kIdentifier,        // keywords too: the parser tells them by their place
  kMetricIdentifier,  // with a colon
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  Position position;
  std::string_view text;  // of the query, which must outlive the token
};

/// Splits a query into tokens, the last of which is kEnd.
/// Errors: kInvalidArgument with the place, as "1:5: parse error: ...".
/// Source: prometheus/prometheus:promql/parser/lex.go.
[[nodiscard]] base::Result<std::vector<Token>> Lex(std::string_view query, Dialect dialect);

/// A message with the line and column of `offset`, both from 1, as Prometheus writes them.
[[nodiscard]] base::Error ParseError(std::string_view query, uint32_t offset,
                                     std::string_view message);

}  // namespace activescale::promql
