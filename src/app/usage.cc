#include "app/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include <CLI/CLI.hpp>

namespace activescale::app {
namespace {

constexpr size_t kWidth = 100;
constexpr size_t kHelpColumn = 30;

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kKinds{{
    {"BYTES", "33554432, 32Mi"},
    {"DURATION", "300ms, 20s, 1m30s, 168h"},
    {"FILE", "a path"},
    {"FOLDER", "a path"},
    {"HOST:PORT", "127.0.0.1:18080"},
    {"LIST", "a,b; the flag may be repeated"},
    {"NUMBER", ""},
    {"PORT", "0 to 65535; 0: a free one"},
}};

/// Names that CLI11 gives to types, and ours.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTypes{{
    {"TEXT", "TEXT"},
    {"INT", "NUMBER"},
    {"UINT", "NUMBER"},
    {"FLOAT", "NUMBER"},
    {"BOOLEAN", ""},
}};

/// CLI11 writes a type as "TEXT:{text,json}" or "INT:INT in [1 - 10]".
void ReadType(std::string_view type, Flag& flag) {
  const std::string_view name = type.substr(0, type.find(":{"));
  if (name.size() < type.size()) {
    std::string_view set = type.substr(name.size() + 2);
    flag.choices = SplitAt(set.substr(0, set.find('}')), ',');
  }
  const auto* known = std::ranges::find_if(kTypes, [&](const auto& each) {
    return name == each.first || name.starts_with(fmt::format("{}:", each.first));
  });
  flag.kind = known == kTypes.end() ? name : known->second;
}

Flag FlagOf(const CLI::Option& option) {
  Flag flag{.name = {},
            .initial = option.get_default_str(),
            .help = option.get_description(),
            .group = option.get_group()};
  if (!option.get_lnames().empty()) flag.name = "--" + option.get_lnames().front();
  if (!option.get_snames().empty()) flag.letter = "-" + option.get_snames().front();
  if (option.get_items_expected_max() != 0) ReadType(option.get_type_name(), flag);
  if (option.get_positional()) {
    flag.name = flag.kind.empty() || flag.kind == "TEXT" ? option.get_name(true) : flag.kind;
    flag.group = "Arguments";
  }
  return flag;
}

std::string Names(const Flag& flag) {
  std::string text = flag.letter.empty() ? flag.name : flag.letter + ", " + flag.name;
  if (!flag.is_argument() && !flag.kind.empty()) text += " " + flag.ValueText();
  return text;
}

std::string Told(const Flag& flag) {
  std::vector<std::string> notes;
  if (!flag.variable.empty()) notes.push_back("$" + flag.variable);
  if (!flag.initial.empty()) notes.push_back("default " + flag.initial);
  if (notes.empty()) return flag.help;
  return fmt::format("{} [{}]", flag.help, fmt::join(notes, "; "));
}

std::string FlagText(const Flag& flag) {
  std::string text = "  " + Names(flag);
  // A long name stands on a line of its own.
  if (text.size() >= kHelpColumn) text += "\n";
  for (const std::string& line : WrapWords(Told(flag), kWidth - kHelpColumn)) {
    const bool first = text.size() < kHelpColumn && text.find('\n') == std::string::npos;
    text += fmt::format("{:{}}{}\n", "", first ? kHelpColumn - text.size() : kHelpColumn, line);
  }
  return text;
}

/// How the kinds of values that occur are written.
std::string KindsText(const Usage& usage) {
  std::string text;
  for (const auto& [kind, example] : kKinds) {
    const bool used = std::ranges::any_of(
        usage.flags, [&](const Flag& flag) { return flag.kind == kind && flag.choices.empty(); });
    if (used && !example.empty()) text += fmt::format("  {:<28}{}\n", kind, example);
  }
  return text.empty() ? text : "\nValues:\n" + text;
}

}  // namespace

std::string Flag::ValueText() const {
  return choices.empty() ? kind : fmt::format("{}", fmt::join(choices, "|"));
}

std::string Usage::Line() const {
  std::string text = fmt::format("activescale {}", name);
  const auto is_flag = [](const Flag& flag) { return !flag.is_argument(); };
  if (std::ranges::any_of(flags, is_flag)) text += " [FLAGS]";
  for (const Flag& flag : flags) {
    if (flag.is_argument()) text += " " + (flag.choices.empty() ? flag.name : flag.ValueText());
  }
  return text;
}

std::vector<std::string> Usage::Groups() const {
  std::vector<std::string> out;
  for (const Flag& flag : flags) {
    if (std::ranges::find(out, flag.group) == out.end()) out.push_back(flag.group);
  }
  return out;
}

Usage UsageOf(const CLI::App& app) {
  Usage usage{.name = app.get_name(), .about = app.get_description()};
  for (const CLI::Option* option : app.get_options()) usage.flags.push_back(FlagOf(*option));
  // What asks for help is asked for last.
  std::ranges::stable_partition(usage.flags,
                                [](const Flag& flag) { return flag.name != "--help"; });
  return usage;
}

std::string_view KindText(std::string_view kind) {
  const auto* found =
      std::ranges::find(kKinds, kind, &std::pair<std::string_view, std::string_view>::first);
  return found == kKinds.end() ? std::string_view() : found->second;
}

std::string HelpText(const Usage& usage) {
  std::string text;
  for (const std::string& line : WrapWords(usage.about, kWidth)) text += line + "\n";
  text += fmt::format("\nusage: {}\n", usage.Line());
  for (const std::string& group : usage.Groups()) {
    text += fmt::format("\n{}:\n", group);
    for (const Flag& flag : usage.flags) {
      if (flag.group == group) text += FlagText(flag);
    }
  }
  return text + KindsText(usage);
}

std::vector<std::string> WrapWords(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (text.size() > width) {
    size_t space = text.rfind(' ', width);
    // A word that is longer than a line.
    if (space == std::string_view::npos) space = text.find(' ');
    space = std::min(space, text.size());
    lines.emplace_back(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  if (!text.empty()) lines.emplace_back(text);
  return lines;
}

std::vector<std::string> SplitAt(std::string_view list, char separator) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const size_t end = std::min(list.find(separator), list.size());
    out.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return out;
}

}  // namespace activescale::app
