#include "app/load_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "app/config_file.h"
#include "app/settings.h"

namespace activescale::app {
namespace {

using Values = std::map<std::string, std::string, std::less<>>;

std::optional<std::string> Find(const Values& values, std::string_view name) {
  const auto at = values.find(name);
  return at == values.end() ? std::nullopt : std::optional(at->second);
}

std::optional<std::string> FindVariable(const Environment& environment, std::string_view name) {
  auto value = environment(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

Values ReadFile(const std::string& path, std::vector<std::string>& faults) {
  if (path.empty()) return {};
  auto values = ReadConfigFile(path);
  if (!values) {
    faults.push_back(fmt::format("{}: {}", path, values.error().message));
    return {};
  }
  for (const auto& [key, value] : *values) {
    const auto is_key = [&name = key](const Setting& setting) { return setting.name == name; };
    if (std::ranges::none_of(Settings(), is_key)) {
      faults.push_back(fmt::format("{} in {}: unknown setting", key, path));
    }
  }
  return std::move(*values);
}

}  // namespace

LoadedConfig LoadConfig(const CommandLine& line, const Environment& environment) {
  LoadedConfig loaded;
  loaded.faults = line.faults;
  const std::string path =
      !line.config_file.empty()
          ? line.config_file
          : FindVariable(environment, "ACTIVESCALE_CONFIG").value_or(std::string());
  const Values file = ReadFile(path, loaded.faults);
  const size_t faults_before = loaded.faults.size();
  for (const Setting& setting : Settings()) {
    std::string origin = "default of " + std::string(setting.name);
    std::string text(setting.initial);
    if (auto flag = Find(line.values, setting.name)) {
      origin = fmt::format("--{}", setting.name);
      text = std::move(*flag);
    } else if (auto variable = FindVariable(environment, setting.env)) {
      origin = fmt::format("{} (environment, for {})", setting.env, setting.name);
      text = std::move(*variable);
    } else if (auto entry = Find(file, setting.name)) {
      origin = fmt::format("{} in {}", setting.name, path);
      text = std::move(*entry);
    }
    if (const auto assigned = setting.assign(loaded.config, text); !assigned) {
      loaded.faults.push_back(fmt::format("{}: {}", origin, assigned.error()));
    }
  }
  // Of half-read values the rest would be guesses.
  if (loaded.faults.size() == faults_before) {
    std::ranges::move(CrossFaults(loaded.config), std::back_inserter(loaded.faults));
  }
  for (const std::string& flag : line.ignored_flags) {
    loaded.warnings.push_back(
        fmt::format("--{} is accepted and has no effect: Activescale does not need it", flag));
  }
  return loaded;
}

}  // namespace activescale::app
