#include "app/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include <CLI/CLI.hpp>

#include "app/settings.h"

namespace activescale::app {
namespace {

constexpr std::string_view kProcessGroup = "Process";

using Results = std::map<std::string, std::vector<std::string>, std::less<>>;

// Go's flag package takes one dash for two; CLI11 would read `-ttl` as three letters.
std::string WithTwoDashes(const std::string& argument) {
  const bool one_dash = argument.size() > 1 && argument[0] == '-' &&
                        std::isalpha(static_cast<unsigned char>(argument[1])) != 0;
  if (argument == "-h") return "--help";
  return one_dash ? "-" + argument : argument;
}

// A missing value becomes "", for the setting's own check to refuse: CLI11 would stop at the first
// fault, and all are to be reported together.
void AddOption(CLI::App& app, std::string_view name, bool is_switch, Results& results) {
  const std::string flag = fmt::format("--{}", name);
  std::vector<std::string>& values = results[std::string(name)];
  CLI::Option* const option =
      is_switch ? app.add_flag(flag, values)
                : app.add_option(flag, values)->expected(0, 1)->allow_extra_args(false);
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void AddAll(CLI::App& app, Results& results) {
  app.allow_extras();
  app.set_help_flag("");
  for (const Setting& setting : Settings()) {
    AddOption(app, setting.name, setting.is_switch(), results);
  }
  AddOption(app, "config", false, results);
  AddOption(app, "help", true, results);
  for (const IgnoredFlag& flag : IgnoredFlags()) {
    AddOption(app, flag.name, flag.is_switch, results);
  }
}

/// The values that a unit such as "keep|zero" lists; none if it is another kind of text.
std::vector<std::string> ChoicesOf(std::string_view unit) {
  const auto listed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '|';
  };
  const bool is_list =
      unit.find('|') != std::string_view::npos && std::ranges::all_of(unit, listed);
  return is_list ? SplitAt(unit, '|') : std::vector<std::string>();
}

Flag FlagOf(const Setting& setting) {
  std::string kind;
  if (!setting.is_switch()) {
    std::ranges::transform(setting.unit, std::back_inserter(kind),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  }
  return {.name = fmt::format("--{}", setting.name),
          .letter = setting.name.size() == 1 ? fmt::format("-{}", setting.name) : "",
          .kind = std::move(kind),
          .choices = ChoicesOf(setting.unit),
          .initial = std::string(setting.initial),
          .variable = std::string(setting.env),
          .help = std::string(setting.help),
          .group = std::string(setting.group)};
}

void TellStrays(const std::vector<std::string>& remaining, std::vector<std::string>& faults) {
  bool after_unknown_flag = false;
  for (const std::string& word : remaining) {
    if (word.starts_with("-") && word != "--") {
      faults.push_back(fmt::format("{}: unknown flag", word.substr(0, word.find('='))));
      after_unknown_flag = word.find('=') == std::string::npos;
    } else {
      // The word after an unknown flag is most likely its value.
      if (!after_unknown_flag) faults.push_back(fmt::format("{}: unexpected argument", word));
      after_unknown_flag = false;
    }
  }
}

}  // namespace

CommandLine ParseCommandLine(const std::vector<std::string>& arguments) {
  CLI::App app;
  Results results;
  AddAll(app, results);
  CommandLine line;
  // CLI11 takes the last argument first.
  std::vector<std::string> reversed;
  for (const std::string& argument : arguments) reversed.push_back(WithTwoDashes(argument));
  std::ranges::reverse(reversed);
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::Error& error) {
    line.faults.emplace_back(error.what());
    return line;
  }
  for (const Setting& setting : Settings()) {
    const auto& values = results.find(setting.name)->second;
    if (values.empty()) continue;
    line.values.emplace(setting.name, setting.is_list() ? fmt::format("{}", fmt::join(values, ","))
                                                        : values.back());
  }
  if (const auto& files = results["config"]; !files.empty()) line.config_file = files.back();
  line.help = !results["help"].empty();
  for (const IgnoredFlag& flag : IgnoredFlags()) {
    if (!results.find(flag.name)->second.empty()) line.ignored_flags.emplace_back(flag.name);
  }
  TellStrays(app.remaining(), line.faults);
  return line;
}

Usage ServeUsage() {
  Usage usage{.name = "serve",
              .about =
                  "Takes metrics from Envoys and serves them to Kubernetes; also what runs when "
                  "only flags are given. A flag wins over its variable, that over the file of "
                  "--config, that over the default."};
  for (const Setting& setting : Settings()) usage.flags.push_back(FlagOf(setting));
  usage.flags.push_back({.name = "--config",
                         .kind = "FILE",
                         .variable = "ACTIVESCALE_CONFIG",
                         .help = "YAML file with settings by these names.",
                         .group = std::string(kProcessGroup)});
  usage.flags.push_back({.name = "--help",
                         .letter = "-h",
                         .help = "Print this and exit.",
                         .group = std::string(kProcessGroup)});
  return usage;
}

}  // namespace activescale::app
