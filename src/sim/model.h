#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hpa/types.h"
#include "sim/load_shape.h"

namespace activescale::sim {

/// How a pod of the workload works. Times in seconds.
struct ServiceModel {
  double latency = 0.2;       // mean time that one request is worked on, > 0
  double latency_spread = 0;  // coefficient of variation of a log-normal distribution; 0: constant
  int workers = 0;            // requests that a pod works on at once; 0: no limit
  int64_t queue_limit = 0;    // requests that wait at most, all pods together; 0: no limit
  double start = 1;           // from creation to Ready, mean
  double start_spread = 0;    // uniform, plus or minus
  double warmup = 0;          // from Ready until it takes load
  double terminating = 5;     // from deletion until it is gone
};

/// How the HPA learns about the load.
enum class PathKind : uint8_t {
  kPush,            // Envoy flushes to us
  kPushAhead,       // the same, and we scale up at the push
  kPrometheusKeda,  // scraped, asked through KEDA with a window
  kCpu,             // metrics-server
  kKpa,             // Knative's autoscaler instead of the HPA, for comparison
};

struct SignalPath {
  PathKind kind = PathKind::kPush;
  double flush = 5;    // kPush(Ahead): seconds between flushes of one pod
  double ttl = 20;     // kPush(Ahead): age at which a pod is missing
  double scrape = 15;  // kPrometheusKeda, kCpu: seconds between scrapes of one pod
  double polling = 0;  // kPrometheusKeda: seconds for which KEDA's cached value is used; 0: none
  double window = 0;   // but for kCpu, kKpa: max over the last seconds; 0: the newest value
  double cpu_per_busy = 1000;  // kCpu: milli-CPU that a request which is worked on takes
  double cpu_request = 1000;   // kCpu: milli-CPU that a pod requests
  double stable_window = 60;   // kKpa
  double panic_window = 6;     // kKpa
};

/// Whether Envoy pushes the values.
[[nodiscard]] inline bool IsPush(PathKind kind) {
  return kind == PathKind::kPush || kind == PathKind::kPushAhead;
}

/// How closely the workload is simulated.
enum class Fidelity : uint8_t {
  kFlow,     // rates: weeks in seconds, latency estimated
  kRequest,  // each request: exact percentiles, for minutes to hours
};

/// Everything that decides a run. The same scenario and seed give the same run.
struct Scenario {
  std::string name;
  LoadShape load;
  ServiceModel service;
  SignalPath path;
  hpa::HpaSpec hpa;
  hpa::ControllerOptions controller;
  double sync = 15;        // seconds between the controller's syncs
  double sync_phase = -1;  // of the first sync, 0..sync; negative: drawn from the seed
  double step = 1;         // seconds between looks at pods and signal
  Fidelity fidelity = Fidelity::kFlow;
  int32_t initial_replicas = 0;  // 0: hpa.min_replicas, but at least 1
  uint64_t seed = 1;
};

/// One line of the timeline.
struct TimelinePoint {
  double at = 0;         // seconds since the start
  double qps = 0;        // offered
  double in_flight = 0;  // worked on and waiting
  double queued = 0;     // waiting
  double latency = 0;    // estimated response time, seconds, waiting included
  int32_t desired = 0;   // spec.replicas
  int32_t ready = 0;     // pods that are Ready
  int32_t serving = 0;   // pods that take load
};

/// Response times, each with the number of requests that had it.
class LatencyRecord {
 public:
  void Add(double seconds, double requests) {
    if (requests > 0)
      entries_.push_back({static_cast<float>(seconds), static_cast<float>(requests)});
  }
  /// The time within which `share` (0..1) of the requests were answered; 0 with no requests.
  /// Sorts at the first call.
  [[nodiscard]] double Quantile(double share);

 private:
  struct Entry {
    float seconds;
    float requests;
  };
  std::vector<Entry> entries_;
  bool sorted_ = false;
};

struct Run {
  std::vector<TimelinePoint> timeline;  // one a step
  LatencyRecord latencies;
  double refused = 0;  // requests that found the queue full
};

}  // namespace activescale::sim
