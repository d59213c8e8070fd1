#pragma once

#include <span>
#include <string>

#include "app/load_config.h"
#include "app/usage.h"

namespace activescale::app {

/// `activescale explain hpa/NAMESPACE/NAME`: what an HPA saw and what its controller makes of it.
/// Returns the exit code.
int RunExplain(std::span<const std::string> arguments, const Environment& environment);

/// How it is called.
[[nodiscard]] Usage ExplainUsage();

}  // namespace activescale::app
