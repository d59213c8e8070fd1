#include "app/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include <CLI/CLI.hpp>

#include "app/settings.h"

namespace activescale::app {
namespace {

using Results = std::map<std::string, std::vector<std::string>, std::less<>>;

// Go's flag package takes one dash for two; CLI11 would read `-ttl` as three letters.
std::string WithTwoDashes(const std::string& argument) {
  const bool one_dash = argument.size() > 1 && argument[0] == '-' &&
                        std::isalpha(static_cast<unsigned char>(argument[1])) != 0;
  if (argument == "-h") return "--help";
  return one_dash ? "-" + argument : argument;
}

constexpr size_t kHelpColumn = 30;
constexpr size_t kHelpWidth = 100 - kHelpColumn;

// Breaks lines between words; CLI11 indents what follows a line break.
std::string Wrap(std::string_view text) {
  std::string wrapped;
  while (text.size() > kHelpWidth) {
    const size_t space = std::min(text.rfind(' ', kHelpWidth), text.size());
    wrapped += std::string(text.substr(0, space)) + "\n";
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return wrapped.append(text);
}

std::string Describe(const Setting& setting) {
  std::string text = fmt::format("{} [${}", setting.help, setting.env);
  if (!setting.initial.empty()) text += fmt::format("; default {}", setting.initial);
  return Wrap(text + "]");
}

// A missing value becomes "", for the setting's own check to refuse: CLI11 would stop at the first
// fault, and all are to be reported together.
void AddOption(CLI::App& app, std::string_view name, bool is_switch, const std::string& help,
               std::string_view unit, std::string_view group, Results& results) {
  const std::string flag = fmt::format("--{}", name);
  std::vector<std::string>& values = results[std::string(name)];
  CLI::Option* option = nullptr;
  if (is_switch) {
    option = app.add_flag(flag, values, help);
  } else {
    option = app.add_option(flag, values, help)
                 ->expected(0, 1)
                 ->allow_extra_args(false)
                 ->type_name(std::string(unit));
  }
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->group(std::string(group));
}

constexpr std::string_view kProcessGroup = "Process";

void AddAll(CLI::App& app, Results& results) {
  app.allow_extras();
  app.set_help_flag("");
  for (const Setting& setting : Settings()) {
    AddOption(app, setting.name, setting.is_switch(), Describe(setting), setting.unit,
              setting.group, results);
  }
  AddOption(app, "config", false, "YAML file with settings by these names. [$ACTIVESCALE_CONFIG]",
            "file", kProcessGroup, results);
  AddOption(app, "help", true, "Print this and exit.", "", kProcessGroup, results);
  for (const IgnoredFlag& flag : IgnoredFlags()) {
    AddOption(app, flag.name, flag.is_switch, "", "text", "", results);  // no group: not in help
  }
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

std::string ServeHelp() {
  CLI::App app;
  Results results;
  AddAll(app, results);
  app.get_formatter()->column_width(kHelpColumn);
  app.name("activescale serve");
  return app.help();
}

}  // namespace activescale::app
