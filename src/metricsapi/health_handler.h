#pragma once

#include "net/http_types.h"
#include "telemetry/health.h"
#include "telemetry/registry.h"

namespace activescale::metricsapi {

/// Serves /healthz, /livez, /readyz (each with ?verbose) and /metrics, and 404 for all else.
/// /healthz and /livez say that requests are answered at all and look at nothing: a probe that
/// restarts the pod must not do so because a backend is away. /readyz runs the checks; 503 if one
/// fails, then always with the list. Threads: any.
class HealthHandler final : public net::HttpHandler {
 public:
  /// Both must outlive this.
  HealthHandler(const telemetry::HealthChecks& checks, telemetry::Registry& registry)
      : checks_(checks), registry_(registry) {}

  void Handle(net::HttpRequest request, net::HttpResponder respond) override;

 private:
  [[nodiscard]] net::HttpResponse Answer(const net::HttpRequest& request) const;

  const telemetry::HealthChecks& checks_;
  telemetry::Registry& registry_;
};

}  // namespace activescale::metricsapi
