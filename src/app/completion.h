#pragma once

#include <string>
#include <vector>

#include "app/usage.h"

namespace activescale::app {

/// Scripts that complete commands, flags and values in a shell, made from all `commands`; flags
/// alone are those of `serve`. Commands without a summary are left out.
[[nodiscard]] std::string BashCompletion(const std::vector<Usage>& commands);
[[nodiscard]] std::string ZshCompletion(const std::vector<Usage>& commands);
[[nodiscard]] std::string FishCompletion(const std::vector<Usage>& commands);

}  // namespace activescale::app
