#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace activescale::base {

/// Decodes %XX; nothing if an escape is broken. `+` stays.
[[nodiscard]] std::optional<std::string> PercentDecode(std::string_view text);

/// Encodes what has a meaning in a URL or a form: everything but letters, digits and -._~.
[[nodiscard]] std::string PercentEncode(std::string_view text);

}  // namespace activescale::base
