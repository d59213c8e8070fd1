#pragma once

#include <envoy/service/metrics/v3/metrics_service.grpc.pb.h>

#include <atomic>
#include <cstddef>

#include "ingest/gzip.h"
#include "ingest/stream_session.h"

namespace activescale::ingest {

struct MetricsServiceOptions {
  /// Streams open at once; one more is refused with RESOURCE_EXHAUSTED.
  size_t max_streams = 20'000;
  /// Bytes of one message, compressed or not.
  size_t max_message_bytes = size_t{32} << 20;
  /// Bytes that inflated messages take together.
  size_t max_inflated_bytes = size_t{128} << 20;
};

/// envoy.service.metrics.v3.MetricsService over gRPC's callback API, on raw bytes: gRPC's threads
/// run the streams' sessions and are never blocked. To be served by a GrpcServer, which leaves the
/// size of messages and gzip to this service, so that both are bounded and counted.
/// Outlives the server. Threads: any.
class MetricsService final
    : public envoy::service::metrics::v3::MetricsService::WithRawCallbackMethod_StreamMetrics<
          envoy::service::metrics::v3::MetricsService::Service> {
 public:
  MetricsService(MetricsServiceOptions options, Ingest& ingest);
  /// The server must be gone.
  ~MetricsService() override;

  grpc::ServerReadReactor<grpc::ByteBuffer>* StreamMetrics(grpc::CallbackServerContext* context,
                                                           grpc::ByteBuffer* response) override;

  /// Ends each stream after its next message, and refuses new ones, so that Envoy goes elsewhere
  /// and no flush is lost.
  void Drain() { draining_.store(true, std::memory_order_relaxed); }

 private:
  class Stream;

  const MetricsServiceOptions options_;
  Ingest& ingest_;
  InflateBudget inflate_budget_;
  std::atomic<size_t> open_streams_{0};
  std::atomic<bool> draining_{false};
  base::WarningGate ended_warning_;
};

}  // namespace activescale::ingest
