#include "series/matcher.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

namespace activescale::series {
namespace {

/// Bounds one compiled expression, so that a hostile one is refused instead of filling memory.
constexpr int64_t kMaxPatternBytes = 1 << 20;

std::string_view OpText(Matcher::Op op) {
  constexpr std::string_view kTexts[] = {"=", "!=", "=~", "!~"};
  return kTexts[static_cast<size_t>(op)];
}

}  // namespace

base::Result<Matcher> Matcher::Make(Op op, std::string label, std::string value) {
  if (op == Op::kEqual || op == Op::kNotEqual) {
    return Matcher(op, std::move(label), std::move(value), nullptr);
  }
  RE2::Options options;
  options.set_dot_nl(true);
  options.set_log_errors(false);
  options.set_max_mem(kMaxPatternBytes);
  auto pattern = std::make_shared<const RE2>(value, options);
  if (!pattern->ok()) {
    return base::Fail(base::Code::kInvalidArgument, "the regular expression '" + value +
                                                        "' of label " + label +
                                                        " is not valid: " + pattern->error());
  }
  return Matcher(op, std::move(label), std::move(value), std::move(pattern));
}

bool Matcher::Matches(std::string_view value) const {
  switch (op_) {
    case Op::kEqual:
      return value == value_;
    case Op::kNotEqual:
      return value != value_;
    case Op::kMatch:
    case Op::kNotMatch:
      break;
  }
  const re2::StringPiece text(value.data(), value.size());
  return RE2::FullMatch(text, *pattern_) == (op_ == Op::kMatch);
}

bool Matcher::MatchesLabels(const metric::Labels& labels) const {
  return Matches(labels.Get(label_).value_or(""));
}

std::string Matcher::ToString() const {
  std::string text = label_;
  text += OpText(op_);
  text += '"';
  for (const char c : value_) {
    if (c == '"' || c == '\\') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  text += '"';
  return text;
}

bool MatchesAll(const Matchers& matchers, const metric::Labels& labels) {
  return std::ranges::all_of(matchers,
                             [&](const Matcher& matcher) { return matcher.MatchesLabels(labels); });
}

}  // namespace activescale::series
