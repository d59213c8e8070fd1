#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace activescale::app {

/// Reads a YAML mapping from settings' names to values; a sequence is a list joined by commas.
/// Errors: kInvalidArgument for what is no such mapping, with the line.
[[nodiscard]] base::Result<std::map<std::string, std::string, std::less<>>> ParseConfigYaml(
    std::string_view text);

/// ParseConfigYaml of a file. Errors: also kNotFound if it cannot be read.
[[nodiscard]] base::Result<std::map<std::string, std::string, std::less<>>> ReadConfigFile(
    const std::string& path);

}  // namespace activescale::app
