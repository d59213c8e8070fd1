#include "scaleahead/runner_metrics.h"

#include <string>

namespace activescale::scaleahead {
namespace {

constexpr std::array<std::string_view, kStepOutcomeCount> kOutcomes = {
    "applied", "conflict", "forbidden", "gone", "refused", "away"};

}  // namespace

RunnerMetrics::RunnerMetrics(telemetry::Registry& registry)
    : looks(),
      steps(),
      undone(registry.AddCounter("activescale_scale_ahead_undone_total",
                                 "Steps ahead that somebody took back within a minute.")),
      hpas_on(registry.AddGauge("activescale_scale_ahead_hpas",
                                "HPAs that asked for steps ahead and can have them, by mode.",
                                {{"mode", "on"}})),
      hpas_observed(registry.AddGauge("activescale_scale_ahead_hpas", "", {{"mode", "observe"}})),
      paused(registry.AddGauge("activescale_scale_ahead_paused",
                               "1 while the API server is left in peace after a 429, a 5xx or no "
                               "answer.")),
      push_to_step(registry.AddHistogram(
          "activescale_scale_ahead_push_to_step_seconds",
          "From the push that asked for more replicas to the answer that they are written.",
          {0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5})),
      earlier(registry.AddHistogram(
          "activescale_scale_ahead_earlier_seconds",
          "In observe: how long before the replicas were raised a step would have raised them.",
          {0.5, 1, 2, 3, 5, 7.5, 10, 12.5, 15, 20, 30, 60})) {
  for (size_t i = 0; i < kHoldCount; ++i) {
    looks[i] = &registry.AddCounter("activescale_scale_ahead_looks_total",
                                    "Looks at an HPA by why it was left to its controller; none: "
                                    "a step was due.",
                                    {{"hold", std::string(HoldName(static_cast<Hold>(i)))}});
  }
  for (size_t i = 0; i < kStepOutcomeCount; ++i) {
    steps[i] = &registry.AddCounter("activescale_scale_ahead_steps_total",
                                    "Steps ahead that were tried, by outcome.",
                                    {{"outcome", std::string(kOutcomes[i])}});
  }
}

}  // namespace activescale::scaleahead
