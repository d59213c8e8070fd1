#include "metric/stat_chooser.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/ascii.h"

namespace activescale::metric {
namespace {

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || base::IsDigit(c);
}

/// The text with "_" for what the name of a metric or a label may not have.
std::string WithNameCharacters(std::string_view text) {
  std::string name(text);
  std::ranges::replace_if(name, [](char c) { return !IsNameCharacter(c); }, '_');
  return name;
}

std::string LabelName(std::string_view text) {
  std::string name = WithNameCharacters(text);
  if (name.empty() || base::IsDigit(name[0])) name.insert(0, 1, '_');
  return name;
}

bool IsLabelName(std::string_view name) {
  return LabelName(name) == name && !name.starts_with("__");
}

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

base::Result<StatChooser> StatChooser::Make(const std::vector<std::string>& patterns) {
  StatChooser chooser;
  for (const std::string& text : patterns) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(1 << 20);
    auto pattern = std::make_shared<const re2::RE2>(text, options);
    if (!pattern->ok()) {
      return base::Fail(
          base::Code::kInvalidArgument,
          fmt::format("\"{}\" is not a regular expression of RE2: {}", text, pattern->error()));
    }
    for (const auto& [index, name] : pattern->CapturingGroupNames()) {
      if (IsLabelName(name)) continue;
      return base::Fail(
          base::Code::kInvalidArgument,
          fmt::format("the group \"{}\" of \"{}\" cannot be the name of a label", name, text));
    }
    chooser.patterns_.push_back(std::move(pattern));
  }
  return chooser;
}

bool StatChooser::Chooses(std::string_view name) const {
  return std::ranges::any_of(patterns_, [name](const auto& pattern) {
    return re2::RE2::FullMatch(Piece(name), *pattern);
  });
}

std::optional<StatChooser::Series> StatChooser::SeriesOf(std::string_view name,
                                                         std::span<const LabelView> labels) const {
  for (const auto& pattern : patterns_) {
    std::vector<re2::StringPiece> groups(static_cast<size_t>(pattern->NumberOfCapturingGroups()) +
                                         1);
    if (!pattern->Match(Piece(name), 0, name.size(), re2::RE2::ANCHOR_BOTH, groups.data(),
                        static_cast<int>(groups.size()))) {
      continue;
    }
    Series series;
    std::vector<bool> cut(name.size(), false);
    for (const auto& [index, group] : pattern->CapturingGroupNames()) {
      const re2::StringPiece& found = groups[static_cast<size_t>(index)];
      if (found.empty()) continue;
      series.labels.emplace_back(group, std::string(found.data(), found.size()));
      auto begin = static_cast<size_t>(found.data() - name.data());
      const size_t end = begin + found.size();
      if (begin > 0 && name[begin - 1] == '.') --begin;
      for (size_t i = begin; i < end; ++i) cut[i] = true;
    }
    std::string rest;
    for (size_t i = 0; i < name.size(); ++i) {
      if (!cut[i]) rest += name[i];
    }
    series.name = "envoy_" + WithNameCharacters(rest);
    for (const LabelView& label : labels) {
      series.labels.emplace_back(LabelName(label.name), std::string(label.value));
    }
    return series;
  }
  return std::nullopt;
}

}  // namespace activescale::metric
