#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace activescale::base {

/// Decodes %XX; nothing if an escape is broken. `+` stays.
[[nodiscard]] std::optional<std::string> PercentDecode(std::string_view text);

}  // namespace activescale::base
