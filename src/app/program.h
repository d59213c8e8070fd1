#pragma once

#include <string>
#include <vector>

#include "app/load_config.h"

namespace activescale::app {

/// Exit codes of the process, as docs/configuration.md states them.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailure = 1,           // it could not start, or its work failed
  kExitBadConfiguration = 2,  // faults were written to stderr, nothing was opened
  kExitShutdownHung = 3,
};

/// Runs the subcommand that `arguments` (without the program's name) begin with; only flags mean
/// `serve`. Returns the exit code.
int RunProgram(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace activescale::app
