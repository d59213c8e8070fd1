#pragma once

#include <span>
#include <string>

#include "app/load_config.h"
#include "app/usage.h"

namespace activescale::app {

/// `activescale query`: one question to a server of Prometheus's query API. Returns the exit code.
int RunQuery(std::span<const std::string> arguments, const Environment& environment);

/// How it is called.
[[nodiscard]] Usage QueryUsage();

}  // namespace activescale::app
