#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/config.h"
#include "app/thread.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/warning_gate.h"
#include "insight/hpa_table.h"
#include "kube/api_client.h"
#include "kube/api_reviews.h"
#include "kube/apiservice_ca.h"
#include "kube/apiservice_owner.h"
#include "kube/credentials.h"
#include "kube/delegated_auth_config_watch.h"
#include "kube/endpoint_watch.h"
#include "kube/replica_watch.h"
#include "kube/scale_watch.h"
#include "kube/watch_pod_index.h"
#include "metricsapi/access_control.h"
#include "metricsapi/authenticator.h"
#include "metricsapi/authorizer.h"
#include "metricsapi/delegated_access.h"
#include "net/http_client.h"
#include "net/tls_context.h"
#include "telemetry/health.h"
#include "telemetry/registry.h"

namespace activescale::app {

/// As whom the API server is asked, for each purpose; the same unless a kubeconfig says otherwise.
struct ClusterAccesses {
  kube::ClusterAccess pods;
  kube::ClusterAccess authentication;
  kube::ClusterAccess authorization;
};

/// What the configuration and the environment of a pod say; nothing for a standalone process, whose
/// pods are those that push. Errors: what cannot be read, or no cluster although one is asked for.
[[nodiscard]] base::Result<std::optional<ClusterAccesses>> FindCluster(const Config& config);

/// All that talks with kube-apiserver, on one thread: which pods there are, who may read, which
/// replicas of ours are ready, and the CA in our APIServices. Threads: any, but Start and Stop.
class Cluster {
 public:
  /// `registry` and `clock` must outlive it.
  Cluster(ClusterAccesses accesses, const Config& config, const base::Clock& clock,
          telemetry::Registry& registry);

  /// `install` takes each serving certificate that our CA signed; called on this thread.
  void Start(std::function<base::Result<void>(const net::TlsPair&)> install);
  /// Ends the thread; calls in flight fail first.
  void Stop();

  [[nodiscard]] kube::ApiClient& api() { return api_; }
  /// For more watches; start them before this stops.
  [[nodiscard]] kube::WatchGroup::Context WatchContext();
  [[nodiscard]] const kube::WatchPodIndex& pods() const { return pods_; }
  [[nodiscard]] metricsapi::AccessControl& access() { return access_; }
  /// Null if nobody asked for it.
  [[nodiscard]] const kube::ScaleWatch* scales() const { return scales_.get(); }
  /// Whole HPAs; null if nobody watches or shows them.
  [[nodiscard]] const insight::HpaTable* hpas() const { return hpas_.get(); }
  /// Null if nothing is scraped.
  [[nodiscard]] kube::EndpointWatch* endpoints() const { return endpoints_.get(); }
  void AddChecks(telemetry::HealthChecks& checks);

  /// Names, in order, of the replicas that our Service shows as ready; none if nobody told us which
  /// Service is ours. Nothing while it is not read yet.
  [[nodiscard]] std::optional<std::vector<std::string>> ReadyReplicas() const;

 private:
  [[nodiscard]] telemetry::CheckResult CheckReplicas();
  /// A cluster has one server of external metrics: says in the log which one.
  void TellOwnerOfExternalMetrics();
  void TellOwner(std::string_view ns, std::string_view service) const;

  const Config config_;
  const base::Clock& clock_;
  telemetry::Registry& registry_;
  std::function<double()> random_;
  net::HttpClient http_;
  kube::ApiClient api_;
  kube::ApiClient authentication_api_;
  kube::ApiClient authorization_api_;
  kube::WatchPodIndex pods_;
  std::unique_ptr<insight::HpaTable> hpas_;
  std::unique_ptr<kube::ScaleWatch> scales_;
  std::unique_ptr<kube::EndpointWatch> endpoints_;
  kube::DelegatedAuthConfigWatch auth_config_;
  kube::ApiTokenReviewer tokens_;
  kube::ApiAccessReviewer reviews_;
  metricsapi::Authenticator authenticator_;
  metricsapi::Authorizer authorizer_;
  metricsapi::DelegatedAccess access_;
  std::unique_ptr<kube::ReplicaWatch> replicas_;  // null: we do not know which Service is ours
  std::unique_ptr<kube::ApiServiceCa> ca_;        // null: not asked for
  telemetry::Gauge& other_replicas_;
  base::WarningGate replica_warning_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace activescale::app
