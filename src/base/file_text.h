#pragma once

#include <expected>
#include <optional>
#include <string>
#include <system_error>

namespace activescale::base {

/// The whole of a small file. Errors: why it cannot be read, with the system's words; a folder is
/// one, which the library's iterators over a file would throw at.
[[nodiscard]] std::expected<std::string, std::error_code> ReadFile(const std::string& path);

/// A bearer token in a file, without the white space at its end; nothing if the file cannot be read
/// or is empty.
[[nodiscard]] std::optional<std::string> ReadTokenFile(const std::string& path);

}  // namespace activescale::base
