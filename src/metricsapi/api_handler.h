#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "metricsapi/access_control.h"
#include "metricsapi/custom_metrics.h"
#include "metricsapi/discovery.h"
#include "metricsapi/external_metrics.h"
#include "metricsapi/health_handler.h"
#include "metricsapi/request_info.h"
#include "metricsapi/request_metrics.h"
#include "metricsapi/request_target.h"
#include "net/http_types.h"

namespace activescale::metricsapi {

/// What the secure port serves: discovery, reads of metrics, and what Kubernetes' components have
/// besides. Every failure is a metav1.Status. Discovery asks no backend, so it answers while
/// everything behind is away: an APIService that fails discovery stops the deletion of every
/// namespace in the cluster.
///
/// JSON whatever `Accept` says: the HPA asks for protobuf first and takes JSON, and an aggregator
/// that asks for aggregated discovery falls back to the lists when it gets plain JSON.
class ApiHandler final : public net::HttpHandler {
 public:
  struct Parts {
    CustomMetrics& custom_metrics;
    HealthHandler& health;
    RequestMetrics& metrics;
    const base::Clock& clock;
    AccessControl* access = nullptr;                    // null: everybody may do everything
    std::string version = "v0.0.0";                     // of this program, for /version
    const ExternalMetrics* external_metrics = nullptr;  // null: that group is not served
  };

  /// All parts must outlive this and every answer.
  explicit ApiHandler(Parts parts);

  void Handle(net::HttpRequest request, net::HttpResponder respond) override;

 private:
  struct Call;

  void Route(std::unique_ptr<Call> call);
  /// Answers what needs no backend; nothing for other paths.
  [[nodiscard]] std::optional<net::HttpResponse> AnswerDiscovery(const RequestTarget& target) const;
  [[nodiscard]] std::vector<ApiGroup> Groups() const;
  /// Whether the path is that of a value, in a group and version that is served.
  [[nodiscard]] bool IsRead(const RequestTarget& target) const;
  void ReadExternal(std::unique_ptr<Call> call) const;

  Parts parts_;
  const ApiGroup custom_group_;
  const std::string version_text_;
};

}  // namespace activescale::metricsapi
