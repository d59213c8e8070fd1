#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"
#include "app/config.h"

namespace activescale::app {

/// Looks a variable of the environment up; nothing if it is not set.
using Environment = std::function<std::optional<std::string>(std::string_view)>;

struct LoadedConfig {
  Config config;                      // meaningful only without faults
  std::vector<std::string> faults;    // each a sentence that names where the value came from
  std::vector<std::string> warnings;  // to be logged
};

/// The configuration by precedence: flag, environment, file, default. An empty variable counts as
/// not set. Collects every fault instead of stopping at the first.
[[nodiscard]] LoadedConfig LoadConfig(const CommandLine& line, const Environment& environment);

}  // namespace activescale::app
