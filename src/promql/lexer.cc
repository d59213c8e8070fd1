#include "promql/lexer.h"

#include <algorithm>

#include "base/ascii.h"
#include "promql/literal.h"

namespace activescale::promql {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsAlpha(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsWord(char c) { return IsAlpha(c) || base::IsDigit(c); }
bool IsOneOf(char c, std::string_view set) { return c != '\0' && set.contains(c); }

class Lexer {
 public:
  Lexer(std::string_view query, Dialect dialect) : query_(query), dialect_(dialect) {}

  base::Result<std::vector<Token>> Run() {
    while (error_.message.empty() && !finished_) Step();
    if (!error_.message.empty()) return std::unexpected(std::move(error_));
    return std::move(tokens_);
  }

 private:
  /// '\0' at the end; a NUL in the query is refused like any other odd character.
  [[nodiscard]] char Peek(size_t ahead = 0) const {
    return at_ + ahead < query_.size() ? query_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool AtEnd() const { return at_ >= query_.size(); }
  bool Accept(std::string_view set) {
    if (!IsOneOf(Peek(), set)) return false;
    ++at_;
    return true;
  }
  bool AcceptRun(std::string_view set) {
    const size_t before = at_;
    while (Accept(set)) {
    }
    return at_ != before;
  }

  void Emit(TokenKind kind) {
    tokens_.push_back({kind,
                       {static_cast<uint32_t>(start_), static_cast<uint32_t>(at_)},
                       query_.substr(start_, at_ - start_)});
  }
  void Fail(std::string_view message) {
    error_ = ParseError(query_, static_cast<uint32_t>(start_), message);
  }
  void FailOn(std::string_view message) {
    Fail(std::string(message) + ": '" + std::string(query_.substr(start_, at_ - start_)) + "'");
  }

  void Step() {
    start_ = at_;
    if (AtEnd()) return Finish();
    const char c = query_[at_++];
    if (IsSpace(c)) return;
    if (c == '#') {
      while (!AtEnd() && Peek() != '\n' && Peek() != '\r') ++at_;
      return;
    }
    if (c == '"' || c == '\'' || c == '`') return String(c);
    if (brace_open_) return InsideBraces(c);
    if (base::IsDigit(c) || (c == '.' && base::IsDigit(Peek()))) return NumberOrDuration();
    if (c == ':' && bracket_open_) return Colon();
    if (IsAlpha(c) || c == ':') return Word();
    Symbol(c);
  }

  void Finish() {
    finished_ = true;
    if (brace_open_) return Fail("unexpected end of input inside braces");
    if (paren_depth_ != 0) return Fail("unclosed left parenthesis");
    if (bracket_open_) return Fail("unclosed left bracket");
    Emit(TokenKind::kEnd);
  }

  void InsideBraces(char c) {
    if (IsAlpha(c)) {
      while (IsWord(Peek())) ++at_;
      return Emit(TokenKind::kIdentifier);
    }
    switch (c) {
      case ',':
        return Emit(TokenKind::kComma);
      case '=':
        return Emit(Accept("~") ? TokenKind::kMatch : TokenKind::kAssign);
      case '!':
        if (Accept("~")) return Emit(TokenKind::kNotMatch);
        if (Accept("=")) return Emit(TokenKind::kNotEqual);
        return Fail("unexpected character after '!' inside braces");
      case '}':
        brace_open_ = false;
        return Emit(TokenKind::kRightBrace);
      default:
        return FailOn("unexpected character inside braces");
    }
  }

  void Colon() {
    if (colon_seen_) return Fail("unexpected colon");
    colon_seen_ = true;
    Emit(TokenKind::kColon);
  }

  void Word() {
    if (bracket_open_) return FailOn("unexpected character in a range");
    while (IsWord(Peek()) || Peek() == ':') ++at_;
    const std::string_view word = query_.substr(start_, at_ - start_);
    if (EqualsIgnoringCase(word, "inf") || EqualsIgnoringCase(word, "nan")) {
      return Emit(TokenKind::kNumber);
    }
    Emit(word.contains(':') ? TokenKind::kMetricIdentifier : TokenKind::kIdentifier);
  }

  void Symbol(char c) {
    switch (c) {
      case ',':
        return Emit(TokenKind::kComma);
      case '+':
        return Emit(TokenKind::kAdd);
      case '-':
        return Emit(TokenKind::kSub);
      case '*':
        return Emit(TokenKind::kMul);
      case '/':
        return Emit(TokenKind::kDiv);
      case '%':
        return Emit(TokenKind::kMod);
      case '^':
        return Emit(TokenKind::kPow);
      case '@':
        return Emit(TokenKind::kAt);
      case '=':
        if (Accept("=")) return Emit(TokenKind::kEqual);
        if (Peek() == '~') return Fail("unexpected character after '=': '~'");
        return Emit(TokenKind::kAssign);
      case '!':
        if (Accept("=")) return Emit(TokenKind::kNotEqual);
        return Fail("unexpected character after '!'");
      case '<':
        return Emit(Accept("=") ? TokenKind::kLessEqual : TokenKind::kLess);
      case '>':
        return Emit(Accept("=") ? TokenKind::kGreaterEqual : TokenKind::kGreater);
      default:
        return Bracket(c);
    }
  }

  void Bracket(char c) {
    switch (c) {
      case '(':
        ++paren_depth_;
        return Emit(TokenKind::kLeftParen);
      case ')':
        if (--paren_depth_ < 0) return Fail("unexpected right parenthesis");
        return Emit(TokenKind::kRightParen);
      case '{':
        brace_open_ = true;
        return Emit(TokenKind::kLeftBrace);
      case '[':
        if (bracket_open_) return Fail("unexpected left bracket");
        bracket_open_ = true;
        colon_seen_ = false;
        return Emit(TokenKind::kLeftBracket);
      case ']':
        if (!bracket_open_) return Fail("unexpected right bracket");
        bracket_open_ = false;
        return Emit(TokenKind::kRightBracket);
      default:
        return FailOn("unexpected character");
    }
  }

  void String(char quote) {
    while (!AtEnd()) {
      const char c = query_[at_];
      if (c == quote) {
        ++at_;
        return Emit(TokenKind::kString);
      }
      if (c == '\n' && quote != '`') break;
      if (c == '\\' && quote != '`' && at_ + 1 < query_.size()) ++at_;
      ++at_;
    }
    Fail(quote == '`' ? "unterminated raw string" : "unterminated quoted string");
  }

  void NumberOrDuration() {
    at_ = start_;
    const bool number = dialect_ == Dialect::kPrometheus3 ? ScanNumber3() : ScanNumber2();
    if (number) return Emit(TokenKind::kNumber);
    if (ScanRestOfDuration()) return Emit(TokenKind::kDuration);
    FailOn("bad number or duration syntax");
  }

  bool ScanNumber2() {
    std::string_view digits = "0123456789";
    if (Accept("0") && Accept("xX")) digits = "0123456789abcdefABCDEF";
    AcceptRun(digits);
    if (Accept(".")) AcceptRun(digits);
    if (Accept("eE")) {
      Accept("+-");
      AcceptRun("0123456789");
    }
    return !IsWord(Peek());
  }

  /// A digit sequence with at most one dot and one exponent; underscores only between digits. In a
  /// hexadecimal number an `e` after the first digit counts as an exponent until one was seen.
  bool ScanNumber3() {
    bool hex = false;
    if (Accept("0") && Accept("xX")) {
      hex = true;
      Accept("_");
    }
    const std::string_view digits = hex ? "0123456789abcdefABCDEF" : "0123456789";
    Accept(".");
    Accept(digits);
    bool dot = false;
    bool exponent = false;
    while (IsOneOf(Peek(), digits) || IsOneOf(Peek(), "._eE")) {
      if (Peek() == '.') {
        ++at_;
        if (dot || hex || Accept("_.")) return false;
        dot = true;
      } else if (IsOneOf(Peek(), "eE")) {
        ++at_;
        if (exponent) return false;
        exponent = true;
        Accept("+-");
        if (Accept("._eE") || AtEnd()) return false;
      } else if (Accept("_")) {
        if (Accept("._eE") || AtEnd()) return false;
      } else {
        AcceptRun(digits);
      }
    }
    return !IsWord(Peek());
  }

  /// After the first number: a unit, then more pairs of number and unit. Whether the units are in
  /// order is for the reader of the duration.
  bool ScanRestOfDuration() {
    if (!Accept("smhdwy")) return false;
    Accept("s");
    while (AcceptRun("0123456789")) {
      if (!Accept("smhdw")) return false;
      Accept("s");
    }
    return !IsWord(Peek());
  }

  const std::string_view query_;
  const Dialect dialect_;
  std::vector<Token> tokens_;
  base::Error error_;
  size_t at_ = 0;
  size_t start_ = 0;
  int paren_depth_ = 0;
  bool brace_open_ = false;
  bool bracket_open_ = false;
  bool colon_seen_ = false;
  bool finished_ = false;
};

}  // namespace

base::Result<std::vector<Token>> Lex(std::string_view query, Dialect dialect) {
  return Lexer(query, dialect).Run();
}

base::Error ParseError(std::string_view query, uint32_t offset, std::string_view message) {
  const std::string_view before = query.substr(0, std::min<size_t>(offset, query.size()));
  const auto line = std::ranges::count(before, '\n') + 1;
  const size_t newline = before.rfind('\n');
  const size_t column =
      newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return {base::Code::kInvalidArgument, std::to_string(line) + ":" + std::to_string(column) +
                                            ": parse error: " + std::string(message)};
}

}  // namespace activescale::promql
