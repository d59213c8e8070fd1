#pragma once

#include <array>
#include <atomic>
#include <chrono>

#include "base/clock.h"
#include "kube/peer_check.h"
#include "telemetry/registry.h"

namespace activescale::ingest {

/// The largest difference between senders' clocks and ours of late, as a gauge. Threads: any.
class SkewGauge {
 public:
  explicit SkewGauge(telemetry::Gauge& gauge) : gauge_(gauge) {}

  /// `skew` > 0 if the sender's clock is ahead. Keeps the one with the largest magnitude.
  void Observe(std::chrono::milliseconds skew);
  /// Forgets what is older than one to two periods of kPeriod; to be called at least once a period.
  void Tick(base::SteadyTime now);

  static constexpr std::chrono::seconds kPeriod{30};

 private:
  telemetry::Gauge& gauge_;
  std::atomic<int64_t> current_ms_{0};
  // Of Tick's thread alone.
  int64_t previous_ms_ = 0;
  base::SteadyTime period_began_{};
};

/// What ingest counts, by the names of the summary line and of /metrics. Threads: any.
struct IngestMetrics {
  explicit IngestMetrics(telemetry::Registry& registry);

  /// StreamMetrics messages received, and their bytes as they came.
  telemetry::Counter& messages;
  telemetry::Counter& bytes;
  /// Families that were taken as a metric of ours.
  telemetry::Counter& kept_families;
  /// Values of metrics that the store took.
  telemetry::Counter& stored_metrics;
  /// Families that are no metric of ours, those included that were never decoded.
  telemetry::Counter& dropped_by_names;

  // Messages dropped for want of a pod: dropped_by_ids, by reason.
  telemetry::Counter& id_missing;
  telemetry::Counter& id_refused;
  telemetry::Counter& id_wrong_cluster;
  telemetry::Counter& id_wrong_peer;
  [[nodiscard]] double DroppedByIds() const;

  // Streams by whether their sender has the address of the pod that it claims to be.
  std::array<telemetry::Counter*, kube::kPeerVerdictCount> peer_checks;  // by kube::PeerVerdict

  // Samples refused, by reason.
  telemetry::Counter& value_out_of_range;
  telemetry::Counter& value_not_gauge;

  /// From the last message of a flush to its hand-over to the store, in seconds: one observation
  /// for each whole flush that the store took.
  telemetry::Histogram& push_to_stored;

  // Flushes that the store did not take, by reason.
  telemetry::Counter& superseded;
  telemetry::Counter& store_full;

  // Streams ended by us, by reason.
  telemetry::Counter& ended_malformed;
  telemetry::Counter& ended_node_changed;
  telemetry::Counter& ended_too_large;
  telemetry::Counter& ended_bad_compression;
  telemetry::Counter& ended_too_many;

  telemetry::Counter& saturated;
  telemetry::Counter& ignored_labels;
  telemetry::Counter& other_clusters;
  telemetry::Counter& batched_streams;
  telemetry::Gauge& open_streams;
  telemetry::Gauge& slow_streams;
  SkewGauge skew;
};

}  // namespace activescale::ingest
