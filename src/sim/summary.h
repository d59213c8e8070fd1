#pragma once

#include <cstdint>

#include "sim/model.h"

namespace activescale::sim {

/// What a run amounts to. Times in seconds; negative where it did not happen.
struct Summary {
  double scaling_start = -1;  // from the first rise of the load to the first added replica
  double time_to_max = -1;    // from there to the most replicas of the run
  /// Scale-out Coverage in percent: the share of the replicas that the load called for beyond the
  /// least it ever did, over time, that served. 100 when the load never rose.
  double coverage = 100;
  double average_replicas = 0;
  double p95_replicas = 0;
  double max_replicas = 0;
  double pod_hours = 0;       // Ready pods
  int direction_changes = 0;  // of spec.replicas: up after down, or down after up
  double time_at_max = 0;     // spec.replicas at the HPA's maximum
  double queue_p50 = 0, queue_p90 = 0, queue_p99 = 0;        // waiting requests, over time
  double latency_p50 = 0, latency_p90 = 0, latency_p99 = 0;  // response time, over requests
  double unmet = 0;  // refused requests and those waiting at the end
};

/// Sorts run.latencies on the way. Pure otherwise.
[[nodiscard]] Summary Summarize(const Scenario& scenario, Run& run);

}  // namespace activescale::sim
