#pragma once

#include <chrono>
#include <memory>

#include "app/cluster.h"
#include "app/config.h"
#include "app/protected_port.h"
#include "app/signal_plane.h"
#include "app/thread.h"
#include "base/error.h"
#include "net/http_client.h"
#include "queryapi/query_api.h"
#include "source/remote_write.h"
#include "source/scraper.h"
#include "telemetry/registry.h"
#include "telemetry/watched_file.h"

namespace activescale::app {

/// Errors: kInvalidArgument: the file of scrape-config and what is wrong with it.
[[nodiscard]] base::Result<void> CheckScrapeConfig(const Config& config);

/// What the signals have of HTTP, each part only when asked for: Prometheus's query API, the port
/// for remote_write, and the scraper on the thread "scrape".
class SignalHttp {
 public:
  /// Opens what the configuration asks for. All of them must outlive this; `cluster` may be
  /// null. Errors: an address that cannot be bound.
  [[nodiscard]] static base::Result<std::unique_ptr<SignalHttp>> Open(
      const ProtectedPort::Parts& parts, const Cluster* cluster, SignalPlane& signals,
      telemetry::Registry& registry);

  void Start();
  /// Whether all requests in flight were answered in time.
  bool Drain(std::chrono::milliseconds deadline);
  void Stop();

 private:
  SignalHttp() = default;
  base::Result<void> OpenQuery(const ProtectedPort::Parts& parts, SignalPlane& signals,
                               telemetry::Registry& registry);
  base::Result<void> OpenRemoteWrite(const ProtectedPort::Parts& parts, SignalPlane& signals,
                                     telemetry::Registry& registry);
  base::Result<void> PrepareScraper(const ProtectedPort::Parts& parts, const Cluster* cluster,
                                    SignalPlane& signals, telemetry::Registry& registry);
  void PollScrapeFile();

  std::unique_ptr<queryapi::QueryApi> query_api_;
  std::unique_ptr<ProtectedPort> query_port_;
  std::unique_ptr<source::RemoteWrite> remote_write_;
  std::unique_ptr<ProtectedPort> remote_write_port_;
  std::unique_ptr<net::HttpClient> scrape_client_;
  std::unique_ptr<source::Scraper> scraper_;
  std::unique_ptr<telemetry::WatchedFile> scrape_file_;
  std::unique_ptr<Thread> scrape_thread_;
};

}  // namespace activescale::app
