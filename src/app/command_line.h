#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/usage.h"

namespace activescale::app {

/// Arguments of `serve`, taken apart and not yet judged.
struct CommandLine {
  /// Value by setting's name; of a repeated flag the last one, of a list all, joined by commas.
  std::map<std::string, std::string, std::less<>> values;
  std::string config_file;                 // empty: not given
  std::vector<std::string> ignored_flags;  // accepted for the sake of other programs' manifests
  std::vector<std::string> faults;         // unknown flags and stray words, each a sentence
  bool help = false;
};

/// Reads arguments as pflag and Go's flag package do: `--ttl=5s`, `--ttl 5s`, `-ttl=5s`, `-v=4`.
[[nodiscard]] CommandLine ParseCommandLine(const std::vector<std::string>& arguments);

/// How `serve` is called: every setting, by group.
[[nodiscard]] Usage ServeUsage();

}  // namespace activescale::app
