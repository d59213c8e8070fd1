#include "insight/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace activescale::insight {
namespace {

namespace json = boost::json;

std::string_view NameOf(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kWarning:
      return "warning";
    case Level::kFailure:
      break;
  }
  return "failure";
}

size_t Count(const Findings& findings, Level level) {
  return static_cast<size_t>(std::ranges::count(findings, level, &Finding::level));
}

}  // namespace

std::string Plural(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string OneLine(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (!control) {
      out.push_back(c);
    } else if (!out.empty() && out.back() != ' ') {
      out.push_back(' ');
    }
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

Level WorstOf(const Findings& findings) {
  Level worst = Level::kOk;
  for (const Finding& finding : findings) worst = std::max(worst, finding.level);
  return worst;
}

std::string FindingsText(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<8} {}: {}\n", NameOf(finding.level), OneLine(finding.check),
                        OneLine(finding.message));
    if (!finding.advice.empty()) text += fmt::format("         -> {}\n", OneLine(finding.advice));
  }
  return text + fmt::format("{}, {}, {} ok\n", Plural(Count(findings, Level::kFailure), "failure"),
                            Plural(Count(findings, Level::kWarning), "warning"),
                            Count(findings, Level::kOk));
}

std::string FindingsJson(const Findings& findings) {
  json::array list;
  for (const Finding& finding : findings) {
    json::object item{
        {"level", NameOf(finding.level)}, {"check", finding.check}, {"message", finding.message}};
    if (!finding.advice.empty()) item["advice"] = finding.advice;
    list.push_back(std::move(item));
  }
  const json::object out{{"level", NameOf(WorstOf(findings))},
                         {"failures", Count(findings, Level::kFailure)},
                         {"warnings", Count(findings, Level::kWarning)},
                         {"findings", std::move(list)}};
  return json::serialize(out) + "\n";
}

}  // namespace activescale::insight
