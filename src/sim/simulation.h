#pragma once

#include "base/error.h"
#include "sim/model.h"

namespace activescale::sim {

/// Runs a scenario, in steps of scenario.step. A week of 5 s steps with 50 pods takes well under 2
/// s as a flow. Pure; the same scenario gives the same run. Threads: any. Errors: kInvalidArgument,
/// naming the setting that cannot be simulated.
[[nodiscard]] base::Result<Run> Simulate(const Scenario& scenario);

/// Why a scenario cannot be simulated; ok if it can.
[[nodiscard]] base::Result<void> CheckScenario(const Scenario& scenario);

}  // namespace activescale::sim
