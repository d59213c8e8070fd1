#pragma once

#include <optional>
#include <string>

namespace activescale::base {

/// The whole of a small file; nothing if it cannot be read.
[[nodiscard]] std::optional<std::string> ReadFile(const std::string& path);

/// A bearer token in a file, without the white space at its end; nothing if the file cannot be read
/// or is empty.
[[nodiscard]] std::optional<std::string> ReadTokenFile(const std::string& path);

}  // namespace activescale::base
