#pragma once

#include <span>
#include <string>

#include "app/load_config.h"

namespace activescale::app {

/// `activescale simulate`: what an HPA would do with a load. Returns the exit code.
int RunSimulate(std::span<const std::string> arguments, const Environment& environment);

/// `activescale recommend`: target, minimum, maximum and window from a recorded history.
int RunRecommend(std::span<const std::string> arguments, const Environment& environment);

}  // namespace activescale::app
