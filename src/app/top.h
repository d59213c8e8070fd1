#pragma once

#include <span>
#include <string>

#include "app/load_config.h"

namespace activescale::app {

/// `activescale top`: workloads with what they have in flight, again and again. Returns the exit
/// code; without --once it ends by a signal.
int RunTop(std::span<const std::string> arguments, const Environment& environment);

}  // namespace activescale::app
