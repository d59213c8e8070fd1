#pragma once

#include <array>

#include "scaleahead/hands.h"
#include "scaleahead/hold.h"
#include "telemetry/registry.h"

namespace activescale::scaleahead {

/// The runner's own metrics.
struct RunnerMetrics {
  explicit RunnerMetrics(telemetry::Registry& registry);

  std::array<telemetry::Counter*, kHoldCount> looks;  // by what came of them; kNone: a step
  std::array<telemetry::Counter*, kStepOutcomeCount> steps;
  telemetry::Counter& undone;
  telemetry::Gauge& hpas_on;
  telemetry::Gauge& hpas_observed;
  telemetry::Gauge& paused;
  telemetry::Histogram& push_to_step;
  telemetry::Histogram& earlier;
};

}  // namespace activescale::scaleahead
