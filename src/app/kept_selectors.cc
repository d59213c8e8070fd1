#include "app/kept_selectors.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "promql/parser.h"

namespace activescale::app {

std::vector<std::string> SplitSelectors(std::string_view text) {
  std::vector<std::string> selectors;
  std::string selector;
  int depth = 0;
  char quote = 0;
  bool escaped = false;
  for (const char c : text) {
    if (quote != 0) {
      if (!escaped && c == quote) quote = 0;
      escaped = !escaped && c == '\\' && quote != '`';
    } else if (c == '"' || c == '\'' || c == '`') {
      quote = c;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      if (!selector.empty()) selectors.push_back(std::exchange(selector, {}));
      continue;
    }
    selector += c;
  }
  if (!selector.empty()) selectors.push_back(std::move(selector));
  return selectors;
}

base::Result<std::vector<series::Matchers>> ParseSelectors(
    const std::vector<std::string>& selectors) {
  std::vector<series::Matchers> parsed;
  for (const std::string& text : selectors) {
    auto expr = promql::Parse(text, promql::Dialect::kPrometheus3);
    if (!expr) return std::unexpected(std::move(expr.error()));
    const auto* selector = std::get_if<promql::VectorSelector>(&(*expr)->node);
    if (selector == nullptr || selector->shift.offset_ns != 0 ||
        selector->shift.at.kind != promql::AtModifier::Kind::kNone) {
      return base::Fail(base::Code::kInvalidArgument,
                        fmt::format("\"{}\" is no plain selector such as up{{job=\"web\"}}", text));
    }
    parsed.push_back(selector->matchers);
  }
  return parsed;
}

}  // namespace activescale::app
