#pragma once

#include <string>

#include "kube/hpa_object.h"
#include "scaleahead/hold.h"

namespace activescale::scaleahead {

/// What somebody should be told of an HPA that asks and is left to its controller; empty where that
/// is as it should be. `not_ours`: why its metrics are not read here, may be empty.
[[nodiscard]] std::string FaultText(Hold hold, const kube::HpaObject& hpa,
                                    const std::string& not_ours);

}  // namespace activescale::scaleahead
