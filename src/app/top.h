#pragma once

#include <span>
#include <string>

#include "app/load_config.h"
#include "app/usage.h"

namespace activescale::app {

/// `activescale top`: workloads with what they have in flight, again and again. Returns the exit
/// code; without --once it ends by a signal.
int RunTop(std::span<const std::string> arguments, const Environment& environment);

/// How it is called.
[[nodiscard]] Usage TopUsage();

}  // namespace activescale::app
