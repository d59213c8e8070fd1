#include "ingest/ingest_metrics.h"

#include <cstdlib>
#include <string>

namespace activescale::ingest {
namespace {

telemetry::Counter& ByReason(telemetry::Registry& registry, const char* name, const char* help,
                             const char* reason) {
  return registry.AddCounter(name, help, {{"reason", reason}});
}

telemetry::Counter& PeerChecked(telemetry::Registry& registry, const char* result) {
  return registry.AddCounter("activescale_ingest_peer_checks_total",
                             "Streams by whether their sender has the address of the pod that it "
                             "claims to be; none without a pod watch.",
                             {{"result", result}});
}

telemetry::Counter& DroppedById(telemetry::Registry& registry, const char* reason) {
  return ByReason(registry, "activescale_ingest_dropped_by_ids_total",
                  "Messages dropped because they have no pod.", reason);
}

telemetry::Counter& RefusedValue(telemetry::Registry& registry, const char* reason) {
  return ByReason(registry, "activescale_ingest_refused_values_total",
                  "Samples of our metrics that were refused.", reason);
}

telemetry::Counter& FlushNotStored(telemetry::Registry& registry, const char* reason) {
  return ByReason(registry, "activescale_ingest_flushes_not_stored_total",
                  "Whole flushes that the store did not take.", reason);
}

telemetry::Counter& EndedStream(telemetry::Registry& registry, const char* reason) {
  return ByReason(registry, "activescale_ingest_ended_streams_total",
                  "Streams that were ended because of what they sent.", reason);
}

}  // namespace

void SkewGauge::Observe(std::chrono::milliseconds skew) {
  const int64_t ms = skew.count();
  int64_t largest = current_ms_.load(std::memory_order_relaxed);
  while (std::abs(ms) > std::abs(largest)) {
    if (current_ms_.compare_exchange_weak(largest, ms, std::memory_order_relaxed)) break;
  }
}

void SkewGauge::Tick(base::SteadyTime now) {
  if (now - period_began_ >= kPeriod) {
    period_began_ = now;
    previous_ms_ = current_ms_.exchange(0, std::memory_order_relaxed);
  }
  const int64_t current = current_ms_.load(std::memory_order_relaxed);
  const int64_t shown = std::abs(current) > std::abs(previous_ms_) ? current : previous_ms_;
  gauge_.Set(static_cast<double>(shown) / 1000.0);
}

IngestMetrics::IngestMetrics(telemetry::Registry& registry)
    : messages(registry.AddCounter("activescale_ingest_messages_total",
                                   "StreamMetrics messages received.")),
      bytes(registry.AddCounter("activescale_ingest_bytes_total",
                                "Bytes of the messages received, compressed ones as they came.")),
      kept_families(registry.AddCounter("activescale_ingest_kept_families_total",
                                        "Metric families that were taken as one of ours.")),
      stored_metrics(registry.AddCounter("activescale_ingest_stored_metrics_total",
                                         "Values of metrics that the store took.")),
      dropped_by_names(registry.AddCounter(
          "activescale_ingest_dropped_by_names_total",
          "Metric families that are none of ours, those included that were never decoded.")),
      id_missing(DroppedById(registry, "no_node")),
      id_refused(DroppedById(registry, "bad_node")),
      id_wrong_cluster(DroppedById(registry, "wrong_cluster")),
      id_wrong_peer(DroppedById(registry, "wrong_peer")),
      peer_checks{&PeerChecked(registry, "match"), &PeerChecked(registry, "mismatch"),
                  &PeerChecked(registry, "no_address"), &PeerChecked(registry, "unknown_pod"),
                  &PeerChecked(registry, "not_synced")},
      value_out_of_range(RefusedValue(registry, "out_of_range")),
      value_not_gauge(RefusedValue(registry, "not_a_gauge")),
      push_to_stored(registry.AddHistogram(
          "activescale_ingest_push_to_stored_seconds",
          "From the last message of a flush to its hand-over to the store, of whole flushes that "
          "the store took.",
          {0.00001, 0.0001, 0.001, 0.01, 0.05, 0.1, 0.5})),
      superseded(FlushNotStored(registry, "superseded")),
      store_full(FlushNotStored(registry, "store_full")),
      ended_malformed(EndedStream(registry, "malformed")),
      ended_node_changed(EndedStream(registry, "node_changed")),
      ended_too_large(EndedStream(registry, "too_large")),
      ended_bad_compression(EndedStream(registry, "bad_compression")),
      ended_too_many(EndedStream(registry, "too_many_streams")),
      saturated(registry.AddCounter("activescale_ingest_saturated_sums_total",
                                    "Sums over a flush that did not fit and were capped.")),
      ignored_labels(registry.AddCounter(
          "activescale_ingest_ignored_labels_total",
          "Labels in node metadata that are not legal in Kubernetes, or too many.")),
      other_clusters(registry.AddCounter(
          "activescale_ingest_other_clusters_total",
          "Streams whose CLUSTER_ID is not the first one seen: two clusters push to one "
          "Activescale; set --cluster-id.")),
      batched_streams(registry.AddCounter(
          "activescale_ingest_batched_streams_total",
          "Streams that split a flush over several messages, counted once each.")),
      open_streams(registry.AddGauge("activescale_ingest_open_streams", "Streams open now.")),
      slow_streams(registry.AddGauge(
          "activescale_ingest_slow_streams",
          "Open streams with more than a third of the TTL between flushes: one lost flush may "
          "make their pods missing.")),
      skew(registry.AddGauge("activescale_ingest_sender_clock_skew_seconds",
                             "The largest lead (or, if negative, lag) of a sender's clock over "
                             "ours in the last minute.")) {}

double IngestMetrics::DroppedByIds() const {
  return id_missing.Value() + id_refused.Value() + id_wrong_cluster.Value() + id_wrong_peer.Value();
}

}  // namespace activescale::ingest
