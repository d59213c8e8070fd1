#pragma once

#include <span>
#include <string>

#include "app/load_config.h"
#include "app/usage.h"

namespace activescale::app {

/// `activescale doctor`: why there is no metric. Returns 0 if all is well, 1 with warnings, 2 with
/// failures.
int RunDoctor(std::span<const std::string> arguments, const Environment& environment);

/// How it is called.
[[nodiscard]] Usage DoctorUsage();

}  // namespace activescale::app
