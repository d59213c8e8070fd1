#pragma once

#include <span>
#include <string>

#include "app/load_config.h"

namespace activescale::app {

/// `activescale doctor`: why there is no metric. Returns 0 if all is well, 1 with warnings, 2 with
/// failures.
int RunDoctor(std::span<const std::string> arguments, const Environment& environment);

}  // namespace activescale::app
