#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "hpa/types.h"
#include "sim/history.h"
#include "sim/model.h"

namespace activescale::sim {

/// What a recommendation is made from.
struct RecommendInput {
  std::vector<HistorySeries> high;  // a high quantile of in-flight, e.g. 0.75; one series a source
  std::vector<HistorySeries> mid;   // its median (0.5), for the maximum; empty: `high` is used
  int workers = 1;                  // that one replica has, >= 1
  double busy_share = 0.75;         // of the workers that should be busy at the target, 0..1
  int32_t spec_replicas = 1;        // now
  std::optional<hpa::HpaSpec> current;  // the setting now, for savings
  ServiceModel service;                 // `workers` above wins over its own
  double max_wait_seconds = 1;          // bound on the simulated waiting time, p99
  double wanted_history_seconds = 7 * 86400;
};

/// A number with where it comes from.
struct Advice {
  int32_t value = 0;
  std::string reason;
};

struct Recommendation {
  Advice target;  // in flight per replica, AverageValue
  Advice min_replicas;
  Advice max_replicas;
  /// The cheapest simulated setting that keeps the bound; absent if none of those tried does.
  std::optional<Advice> best_target;
  std::optional<Advice> best_min;
  std::optional<Advice> best_window;  // scaleDown.stabilizationWindowSeconds
  double best_pod_hours = 0;
  std::optional<double> current_pod_hours;  // simulated with the setting now
  std::vector<std::string> warnings;        // short history, gaps, time at the maximum
};

/// The estimators alone, without simulation; `best_*` stay absent.
[[nodiscard]] base::Result<Recommendation> EstimateFromHistory(const RecommendInput& input);

/// Settings for a workload of workers that pull from a queue, from its history.
/// target = floor(busy_share × workers), at least 1;
/// minReplicas = mean over series of their means of `high` / target, rounded up, at least 2;
/// maxReplicas = the larger of spec.replicas and the maximum of `mid` / workers, rounded up, at
/// least 20. Source: Grafana's estimators for Loki's queriers.
/// Then, by simulation as a flow, the target and minimum with the fewest pod-hours among those
/// whose waiting time stays below the bound, each with the shortest scale-down window that leaves
/// at most four direction changes a day; settings that flap at every window come last. Errors:
/// kInvalidArgument: no samples, no workers, a bound that no setting can be checked with.
[[nodiscard]] base::Result<Recommendation> Recommend(const RecommendInput& input);

/// A patch for the HPA: minReplicas, maxReplicas, the metric's averageValue and the window.
[[nodiscard]] std::string RecommendationYaml(const Recommendation& recommendation);

/// The recommendation for a person: each number with its reason, savings, warnings.
[[nodiscard]] std::string RecommendationText(const Recommendation& recommendation);

}  // namespace activescale::sim
