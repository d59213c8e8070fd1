#pragma once

#include <span>
#include <string>

#include "app/load_config.h"
#include "app/usage.h"

namespace activescale::app {

/// `activescale simulate`: what an HPA would do with a load. Returns the exit code.
int RunSimulate(std::span<const std::string> arguments, const Environment& environment);

/// `activescale recommend`: target, minimum, maximum and window from a recorded history.
int RunRecommend(std::span<const std::string> arguments, const Environment& environment);

/// How it is called.
[[nodiscard]] Usage SimulateUsage();

/// How it is called.
[[nodiscard]] Usage RecommendUsage();

}  // namespace activescale::app
