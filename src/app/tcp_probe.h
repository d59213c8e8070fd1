#pragma once

#include <string>

#include "base/error.h"

namespace activescale::app {

/// Whether something takes connections at host:port (IPv6 in brackets); blocks for 3 s at most per
/// address of the host. Errors: kInvalidArgument, no host:port; kUnavailable, with the reason.
[[nodiscard]] base::Result<void> ProbeTcp(const std::string& address);

}  // namespace activescale::app
