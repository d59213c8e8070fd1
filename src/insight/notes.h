#pragma once

#include <string>
#include <vector>

#include "insight/explain.h"
#include "insight/snapshot.h"

namespace activescale::insight {

/// What a person would want to know besides the arithmetic: why an HPA is stuck, what bends its
/// numbers, what could not be seen. `explained` needs its decision and its metrics.
[[nodiscard]] std::vector<std::string> NotesOn(const Snapshot& snapshot,
                                               const Explanation& explained,
                                               const hpa::ControllerOptions& options);

}  // namespace activescale::insight
