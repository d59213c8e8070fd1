#include "metric/selector.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace activescale::metric {
namespace {

using base::Code;
using base::Fail;
using base::Result;

enum class Token : uint8_t {
  kWord,  // also `in` and `notin`, which are words or operators by where they stand
  kNot,
  kEquals,
  kNotEquals,
  kLess,
  kGreater,
  kOpen,
  kClose,
  kComma,
  kEnd,
};

struct Lexeme {
  Token token = Token::kEnd;
  std::string_view text;
};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::optional<Token> Symbol(char c) {
  switch (c) {
    case '!':
      return Token::kNot;
    case '=':
      return Token::kEquals;
    case '<':
      return Token::kLess;
    case '>':
      return Token::kGreater;
    case '(':
      return Token::kOpen;
    case ')':
      return Token::kClose;
    case ',':
      return Token::kComma;
    default:
      return std::nullopt;
  }
}

// Takes the next lexeme from the front of `rest`. Any byte that is neither space nor symbol
// belongs to a word; whether the word is legal is for the validation to say.
Lexeme Take(std::string_view& rest) {
  while (!rest.empty() && IsSpace(rest[0])) rest.remove_prefix(1);
  if (rest.empty()) return {};
  Lexeme lexeme;
  size_t length = 1;
  if (const auto symbol = Symbol(rest[0])) {
    lexeme.token = *symbol;
    if (rest.starts_with("!=")) {
      lexeme.token = Token::kNotEquals;
      length = 2;
    } else if (rest.starts_with("==")) {
      length = 2;
    }
  } else {
    lexeme.token = Token::kWord;
    while (length < rest.size() && !IsSpace(rest[length]) && !Symbol(rest[length])) ++length;
  }
  lexeme.text = rest.substr(0, length);
  rest.remove_prefix(length);
  return lexeme;
}

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// The form that names of keys and values share; both must start and end alphanumeric.
bool IsNameForm(std::string_view text) {
  if (text.empty() || !IsAlphanumeric(text.front()) || !IsAlphanumeric(text.back())) return false;
  return std::ranges::all_of(
      text, [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsDnsLabel(std::string_view text) {
  const auto lower = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (text.empty() || !lower(text.front()) || !lower(text.back())) return false;
  return std::ranges::all_of(text, [&](char c) { return lower(c) || c == '-'; });
}

bool IsDnsSubdomain(std::string_view text) {
  if (text.size() > 253) return false;
  while (true) {
    const size_t dot = text.find('.');
    if (!IsDnsLabel(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// Why `key` is not a legal label key; "" if it is.
// Source: kubernetes/apimachinery:pkg/util/validation/validation.go, IsQualifiedName.
std::string_view KeyFault(std::string_view key) {
  std::string_view name = key;
  if (const size_t slash = key.find('/'); slash != std::string_view::npos) {
    name = key.substr(slash + 1);
    if (!IsDnsSubdomain(key.substr(0, slash))) {
      return "the part before '/' must be a lower-case DNS name of at most 253 characters";
    }
  }
  if (name.empty()) return "its name part must not be empty";
  if (name.size() > 63) return "its name part must be at most 63 characters";
  if (!IsNameForm(name)) {
    return "its name part must be letters, digits, '-', '_' or '.', starting and ending with a "
           "letter or digit";
  }
  return "";
}

std::string_view ValueFault(std::string_view value) {
  if (value.size() > 63) return "it must be at most 63 characters";
  if (!value.empty() && !IsNameForm(value)) {
    return "it must be letters, digits, '-', '_' or '.', starting and ending with a letter or "
           "digit, or empty";
  }
  return "";
}

std::string Quoted(const Lexeme& lexeme) {
  if (lexeme.token == Token::kEnd) return "the end";
  return fmt::format("'{}'", lexeme.text);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) { Advance(); }

  Result<std::vector<Requirement>> Parse() {
    std::vector<Requirement> requirements;
    if (next_.token == Token::kEnd) return requirements;
    while (true) {
      auto requirement = ParseRequirement();
      if (!requirement) return std::unexpected(std::move(requirement.error()));
      requirements.push_back(std::move(*requirement));
      if (next_.token == Token::kEnd) return requirements;
      if (next_.token != Token::kComma) return Unexpected("',' or the end");
      Advance();
    }
  }

 private:
  void Advance() { next_ = Take(rest_); }

  [[nodiscard]] std::unexpected<base::Error> Unexpected(std::string_view wanted) const {
    return Fail(Code::kInvalidArgument,
                fmt::format("found {}, expected {}", Quoted(next_), wanted));
  }

  Result<Requirement> ParseRequirement() {
    Requirement requirement;
    const bool negated = next_.token == Token::kNot;
    if (negated) Advance();
    if (next_.token != Token::kWord) return Unexpected(negated ? "a key" : "a key or '!'");
    requirement.key = next_.text;
    if (const auto fault = KeyFault(requirement.key); !fault.empty()) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("'{}' is not a legal label key: {}", requirement.key, fault));
    }
    Advance();
    if (negated) {
      requirement.op = Requirement::Op::kDoesNotExist;
      return requirement;
    }
    if (next_.token == Token::kEnd || next_.token == Token::kComma) {
      requirement.op = Requirement::Op::kExists;
      return requirement;
    }
    return ParseOperatorAndValues(std::move(requirement));
  }

  Result<Requirement> ParseOperatorAndValues(Requirement requirement) {
    const Lexeme op = next_;
    Advance();
    Result<std::set<std::string_view>> values;
    if (op.token == Token::kEquals || op.token == Token::kNotEquals) {
      requirement.op = op.token == Token::kEquals ? Requirement::Op::kIn : Requirement::Op::kNotIn;
      values = ParseOneValue();
    } else if (op.token == Token::kWord && (op.text == "in" || op.text == "notin")) {
      requirement.op = op.text == "in" ? Requirement::Op::kIn : Requirement::Op::kNotIn;
      values = ParseValueSet();
    } else if (op.token == Token::kLess || op.token == Token::kGreater) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("'{} {}': comparing label values by size is not supported; use '=', "
                              "'!=', 'in' or 'notin'",
                              requirement.key, op.text));
    } else {
      return Fail(Code::kInvalidArgument,
                  fmt::format("found {} after '{}', expected one of '=', '==', '!=', 'in', 'notin'",
                              Quoted(op), requirement.key));
    }
    if (!values) return std::unexpected(std::move(values.error()));
    for (std::string_view value : *values) {
      if (const auto fault = ValueFault(value); !fault.empty()) {
        return Fail(Code::kInvalidArgument,
                    fmt::format("'{}' is not a legal value of label '{}': {}", value,
                                requirement.key, fault));
      }
      requirement.values.emplace_back(value);
    }
    return requirement;
  }

  // After `=`: a word, or nothing, which is the empty value.
  Result<std::set<std::string_view>> ParseOneValue() {
    if (next_.token == Token::kEnd || next_.token == Token::kComma)
      return std::set{std::string_view()};
    if (next_.token != Token::kWord) return Unexpected("a value");
    const std::string_view value = next_.text;
    Advance();
    return std::set{value};
  }

  // `(a,b)`. Where a value could stand and none does, it is the empty one: `()`, `(,a)`, `(a,)`.
  Result<std::set<std::string_view>> ParseValueSet() {
    if (next_.token != Token::kOpen) return Unexpected("'('");
    Advance();
    std::set<std::string_view> values;
    while (true) {
      if (next_.token == Token::kWord) {
        values.insert(next_.text);
        Advance();
      } else if (next_.token == Token::kComma || next_.token == Token::kClose) {
        values.insert("");
      } else {
        return Unexpected("a value, ',' or ')'");
      }
      if (next_.token != Token::kComma && next_.token != Token::kClose) {
        return Unexpected("',' or ')'");
      }
      const bool last = next_.token == Token::kClose;
      Advance();
      if (last) return values;
    }
  }

  std::string_view rest_;
  Lexeme next_;
};

auto SortKey(const Requirement& r) { return std::tie(r.key, r.op, r.values); }

bool Holds(const Requirement& requirement, const Labels& labels) {
  const auto value = labels.Get(requirement.key);
  const auto among = [&] { return std::ranges::binary_search(requirement.values, *value); };
  switch (requirement.op) {
    case Requirement::Op::kIn:
      return value && among();
    case Requirement::Op::kNotIn:
      return !value || !among();
    case Requirement::Op::kExists:
      return value.has_value();
    case Requirement::Op::kDoesNotExist:
      return !value.has_value();
  }
  return false;
}

std::string Text(const Requirement& r) {
  const bool in = r.op == Requirement::Op::kIn;
  switch (r.op) {
    case Requirement::Op::kExists:
      return r.key;
    case Requirement::Op::kDoesNotExist:
      return "!" + r.key;
    case Requirement::Op::kIn:
    case Requirement::Op::kNotIn:
      break;
  }
  if (r.values.size() == 1) return fmt::format("{}{}{}", r.key, in ? "=" : "!=", r.values[0]);
  return fmt::format("{} {} ({})", r.key, in ? "in" : "notin", fmt::join(r.values, ","));
}

}  // namespace

Result<Selector> Selector::Parse(std::string_view text) {
  auto requirements = Parser(text).Parse();
  if (!requirements) {
    return Fail(Code::kInvalidArgument,
                fmt::format("label selector \"{}\": {}", text, requirements.error().message));
  }
  Selector selector;
  selector.requirements_ = std::move(*requirements);
  std::ranges::sort(selector.requirements_, {}, SortKey);
  const auto repeated = std::ranges::unique(selector.requirements_);
  selector.requirements_.erase(repeated.begin(), repeated.end());
  return selector;
}

bool Selector::Matches(const Labels& labels) const {
  return std::ranges::all_of(requirements_, [&](const Requirement& r) { return Holds(r, labels); });
}

std::string Selector::ToString() const {
  std::string text;
  for (const Requirement& requirement : requirements_) {
    if (!text.empty()) text += ",";
    text += Text(requirement);
  }
  return text;
}

}  // namespace activescale::metric
