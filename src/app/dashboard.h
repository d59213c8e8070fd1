#pragma once

#include <memory>

#include "app/cluster.h"
#include "app/protected_port.h"
#include "base/error.h"
#include "ingest/ingest_metrics.h"
#include "insight/dashboard_feed.h"
#include "insight/dashboard_handler.h"
#include "kube/pod_index.h"
#include "net/io_loop.h"
#include "scaleahead/state_board.h"
#include "store/redis/redis_store.h"
#include "store/sample_store.h"
#include "telemetry/health.h"
#include "telemetry/registry.h"

namespace activescale::app {

/// The files of the page, which the build makes of web/.
[[nodiscard]] std::span<const insight::PageFile> PageFiles();

/// The dashboard's port, its thread, and its live data.
class Dashboard {
 public:
  struct Sources {
    const kube::PodIndex& pods;
    store::SampleStore& store;
    const telemetry::HealthChecks& checks;
    const ingest::IngestMetrics& ingest;
    const Cluster* cluster = nullptr;               // null: standalone
    const store::RedisStore* redis = nullptr;       // null: replicas share nothing
    const scaleahead::StateBoard* ahead = nullptr;  // null: no steps ahead
    telemetry::Registry& registry;
  };

  /// Binds dashboard-address. All of them must outlive this. Destroy it when the store's thread has
  /// ended. Errors: as HttpServer::Listen.
  [[nodiscard]] static base::Result<std::unique_ptr<Dashboard>> Open(
      const ProtectedPort::Parts& parts, const Sources& sources);

  void Start();
  /// Ends the streams of open pages, too. As HttpServer::Drain.
  bool Drain(std::chrono::milliseconds deadline) { return port_->Drain(deadline); }
  void Stop();

 private:
  Dashboard(const ProtectedPort::Parts& parts, const Sources& sources);

  insight::DashboardFeed feed_;
  insight::DashboardHandler handler_;
  std::unique_ptr<ProtectedPort> port_;
  net::IoLoop::Ticker ticker_;
};

}  // namespace activescale::app
