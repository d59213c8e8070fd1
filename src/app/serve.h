#pragma once

#include "app/config.h"

namespace activescale::app {

/// Runs the server until SIGTERM or SIGINT and shuts it down in stages; a second signal kills at
/// once. Returns the exit code. To be called before the process has any other thread.
int Serve(const Config& config);

}  // namespace activescale::app
