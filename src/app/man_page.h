#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/usage.h"

namespace activescale::app {

/// The manual page activescale(1) in the language of man(7), ASCII only, made from all `commands`.
/// Commands without a summary are left out.
[[nodiscard]] std::string ManPage(const std::vector<Usage>& commands, std::string_view version);

}  // namespace activescale::app
