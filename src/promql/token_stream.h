#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "promql/lexer.h"
#include "promql/literal.h"

namespace activescale::promql {

/// The tokens of a query, one after the other. At the end it stays at kEnd.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  [[nodiscard]] const Token& Now() const { return tokens_[at_]; }
  [[nodiscard]] const Token& Next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  [[nodiscard]] bool Is(TokenKind kind) const { return Now().kind == kind; }
  [[nodiscard]] static bool IsWord(const Token& token, std::string_view word) {
    return token.kind == TokenKind::kIdentifier && EqualsIgnoringCase(token.text, word);
  }
  Token Take() {
    const Token token = Now();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool Accept(TokenKind kind) {
    if (!Is(kind)) return false;
    Take();
    return true;
  }
  bool AcceptWord(std::string_view word) {
    if (!IsWord(Now(), word)) return false;
    Take();
    return true;
  }
  /// The token taken last.
  [[nodiscard]] const Token& Before() const { return tokens_[at_ - 1]; }

 private:
  const std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace activescale::promql
