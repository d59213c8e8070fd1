#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/ahead.h"
#include "app/cluster.h"
#include "app/config.h"
#include "app/dashboard.h"
#include "app/last_replica.h"
#include "app/signal_http.h"
#include "app/signal_plane.h"
#include "app/summary_log.h"
#include "app/thread.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/shutdown_stages.h"
#include "ingest/stream_session.h"
#include "kube/envoy_pod_index.h"
#include "metricsapi/api_handler.h"
#include "metricsapi/custom_metrics.h"
#include "metricsapi/external_metrics.h"
#include "metricsapi/health_handler.h"
#include "metricsapi/request_metrics.h"
#include "net/http_server.h"
#include "net/io_loop.h"
#include "net/serving_certificate.h"
#include "store/embedded_store.h"
#include "store/redis/redis_store.h"
#include "telemetry/health.h"
#include "telemetry/process_metrics.h"
#include "telemetry/registry.h"

namespace activescale::ingest {
class GrpcServer;
class MetricsService;
}  // namespace activescale::ingest

namespace activescale::app {

/// Everything that `serve` consists of, wired: Envoys push over gRPC into the store, the Custom
/// Metrics API reads from it. All threads but main's are made here.
class Server {
 public:
  /// Opens the ports and starts the threads. Errors: what could not be opened or loaded.
  [[nodiscard]] static base::Result<std::unique_ptr<Server>> Start(const Config& config,
                                                                   const base::Clock& clock);
  /// Ends at once what the stages of a shutdown have not ended in peace.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// What an orderly end consists of, in order. This must outlive their run.
  void AddShutdownStages(base::ShutdownStages& stages);

 private:
  Server(const Config& config, const base::Clock& clock, std::optional<ClusterAccesses> accesses);

  [[nodiscard]] std::vector<SummaryLog::Entry> SummaryEntries();
  base::Result<void> OpenGrpc();
  base::Result<void> OpenHttps();
  base::Result<void> OpenSignalHttp();
  base::Result<void> OpenDashboard();
  base::Result<void> OpenHealth();
  void AddChecks();
  [[nodiscard]] telemetry::CheckResult CheckStore();
  [[nodiscard]] bool StaysWithoutStore();
  void FlushStore();
  void StartThreads();
  void StopThreads();
  void StartHousekeeping();
  void PollCertificate();
  void InstallCertificate(const net::TlsPair& pair);
  [[nodiscard]] std::function<void(net::ConnectionEvent)> ConnectionCounters(
      const std::string& server);

  const Config config_;
  const base::Clock& clock_;
  telemetry::Registry registry_;
  telemetry::ProcessMetrics process_metrics_;
  telemetry::HealthChecks checks_;
  std::atomic<bool> shutting_down_ = false;

  std::unique_ptr<Cluster> cluster_;              // null: standalone
  std::unique_ptr<store::EmbeddedStore> memory_;  // exactly one of the two
  net::IoLoop redis_loop_;
  std::unique_ptr<store::RedisStore> redis_;
  LastReplica last_replica_;
  telemetry::Gauge& degraded_;
  store::SampleStore& store_;
  kube::EnvoyPodIndex envoy_pods_;  // used when standalone
  const kube::PodIndex& pods_;
  SignalPlane signals_;
  std::unique_ptr<Ahead> ahead_;  // null: off
  ingest::Ingest ingest_;
  metricsapi::CustomMetrics custom_metrics_;
  metricsapi::ExternalMetrics external_metrics_;
  metricsapi::RequestMetrics request_metrics_;
  metricsapi::HealthHandler health_;
  metricsapi::ApiHandler api_;

  // Of the housekeeping, which runs on the health loop.
  SummaryLog summary_;
  telemetry::Counter& certificate_reloaded_;
  telemetry::Counter& certificate_failed_;
  telemetry::Gauge& certificate_expiry_;

  std::unique_ptr<net::ServingCertificate> certificate_;
  net::IoLoop https_loop_;
  net::IoLoop health_loop_;
  std::unique_ptr<ingest::MetricsService> metrics_service_;
  std::unique_ptr<ingest::GrpcServer> grpc_server_;
  std::unique_ptr<net::HttpServer> https_server_;
  std::unique_ptr<net::HttpServer> health_server_;
  std::unique_ptr<SignalHttp> signal_http_;
  std::unique_ptr<Dashboard> dashboard_;  // null: not asked for

  // Last: they use all of the above.
  std::vector<net::IoLoop::Ticker> housekeeping_;
  std::unique_ptr<Thread> redis_thread_;
  std::unique_ptr<Thread> https_thread_;
  std::unique_ptr<Thread> health_thread_;
};

}  // namespace activescale::app
