#pragma once

#include <array>
#include <string>

#include "series/series_store.h"
#include "telemetry/registry.h"

namespace activescale::source {

/// Counters of samples by what became of them, in the order of AppendOutcome.
using AppendCounters = std::array<telemetry::Counter*, series::kAppendOutcomes>;
[[nodiscard]] AppendCounters MakeAppendCounters(telemetry::Registry& registry,
                                                const std::string& name, const std::string& help);

}  // namespace activescale::source
