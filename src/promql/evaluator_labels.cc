// label_replace and label_join.

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "promql/evaluator.h"
#include "promql/literal.h"

namespace activescale::promql {
namespace {

constexpr int64_t kMaxPatternBytes = 1 << 20;

const std::string& TextOf(const Expr& expr) {
  return std::get<StringLiteral>(Unwrap(expr).node).value;
}

bool IsNameChar(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Takes `$1`, `$name`, `${1}` or `${name}` off the front of `text`, without the dollar; nothing if
/// there is no name.
std::string_view TakeName(std::string_view& text) {
  const bool braced = text.starts_with('{');
  const size_t start = braced ? 1 : 0;
  size_t end = start;
  while (end < text.size() && IsNameChar(text[end])) ++end;
  if (end == start || (braced && (end == text.size() || text[end] != '}'))) return {};
  const std::string_view name = text.substr(start, end - start);
  text.remove_prefix(end + start);
  return name;
}

std::string_view GroupText(const RE2& pattern, std::string_view name,
                           const std::vector<re2::StringPiece>& groups) {
  size_t number = groups.size();
  const auto [at, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || at != name.data() + name.size()) {
    const auto& named = pattern.NamedCapturingGroups();
    const auto found = named.find(std::string(name));
    number = found == named.end() ? groups.size() : static_cast<size_t>(found->second);
  }
  if (number >= groups.size()) return {};
  return {groups[number].data(), groups[number].size()};
}

/// Puts the groups of a match into a template; an unknown group is empty, `$$` is a dollar.
/// Source: Go's regexp.Expand.
std::string Expand(const RE2& pattern, std::string_view text,
                   const std::vector<re2::StringPiece>& groups) {
  std::string out;
  while (!text.empty()) {
    const char c = text[0];
    text.remove_prefix(1);
    if (c != '$') {
      out += c;
    } else if (text.starts_with('$')) {
      out += '$';
      text.remove_prefix(1);
    } else if (const std::string_view name = TakeName(text); !name.empty()) {
      out += GroupText(pattern, name, groups);
    } else {
      out += '$';
    }
  }
  return out;
}

}  // namespace

Matrix Evaluator::Relabelled(Matrix matrix) {
  const bool good = IsPrometheus2() ? MergeSameLabels(matrix) : !HasSameLabels(matrix);
  if (!good) shared_.Fail(kSameLabels);
  return matrix;
}

Matrix Evaluator::LabelReplace(const Call& call) {
  const std::string& target = TextOf(*call.args[1]);
  const std::string& replacement = TextOf(*call.args[2]);
  const std::string& source = TextOf(*call.args[3]);
  const std::string& expression = TextOf(*call.args[4]);
  RE2::Options options;
  options.set_dot_nl(true);
  options.set_log_errors(false);
  options.set_max_mem(kMaxPatternBytes);
  const RE2 pattern(expression, options);
  if (!pattern.ok()) {
    shared_.Fail("invalid regular expression in label_replace(): " + expression);
  } else if (!IsLabelName(target, shared_.options.dialect)) {
    shared_.Fail("invalid destination label name in label_replace(): " + target);
  }
  Matrix matrix = EvaluateVector(*call.args[0]);
  if (failed()) return {};
  std::vector<re2::StringPiece> groups(static_cast<size_t>(pattern.NumberOfCapturingGroups()) + 1);
  for (SeriesValues& series : matrix) {
    const std::string_view text = series.labels.Get(source);
    const re2::StringPiece value(text.data(), text.size());
    if (!pattern.Match(value, 0, value.size(), RE2::ANCHOR_BOTH, groups.data(),
                       static_cast<int>(groups.size()))) {
      continue;
    }
    series.labels = series.labels.With(target, Expand(pattern, replacement, groups));
  }
  return Relabelled(std::move(matrix));
}

Matrix Evaluator::LabelJoin(const Call& call) {
  const std::string& target = TextOf(*call.args[1]);
  const std::string& separator = TextOf(*call.args[2]);
  const Dialect dialect = shared_.options.dialect;
  for (size_t i = 3; i < call.args.size(); ++i) {
    if (!IsLabelName(TextOf(*call.args[i]), dialect)) {
      shared_.Fail("invalid source label name in label_join(): " + TextOf(*call.args[i]));
    }
  }
  if (!IsLabelName(target, dialect)) {
    shared_.Fail("invalid destination label name in label_join(): " + target);
  }
  Matrix matrix = EvaluateVector(*call.args[0]);
  if (failed()) return {};
  for (SeriesValues& series : matrix) {
    std::string joined;
    for (size_t i = 3; i < call.args.size(); ++i) {
      if (i > 3) joined += separator;
      joined += series.labels.Get(TextOf(*call.args[i]));
    }
    series.labels = series.labels.With(target, joined);
  }
  return Relabelled(std::move(matrix));
}

}  // namespace activescale::promql
