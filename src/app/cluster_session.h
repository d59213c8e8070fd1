#pragma once

#include <optional>
#include <string>

#include "app/http_loop.h"
#include "app/load_config.h"
#include "base/clock.h"
#include "base/error.h"
#include "insight/doctor_gather.h"
#include "kube/api_client.h"
#include "kube/credentials.h"

namespace activescale::app {

/// The access of a person's command to a cluster: `kubeconfig` if it is given, else KUBECONFIG,
/// ~/.kube/config and the pod's service account. Errors: as kube::LoadKubeconfig.
[[nodiscard]] base::Result<kube::ClusterAccess> FindAccess(const std::string& kubeconfig,
                                                           const std::string& context,
                                                           const Environment& environment);

/// Asks one API server, and health ports, for a command: each question is waited for, on a loop of
/// its own thread. Not to be moved. Threads: one at a time.
class ClusterSession {
 public:
  /// Without `access` only health ports can be asked.
  explicit ClusterSession(std::optional<kube::ClusterAccess> access);

  /// Valid while this is.
  [[nodiscard]] insight::ClusterReader Reader();
  [[nodiscard]] base::WallTime Now() const { return clock_.WallNow(); }

 private:
  [[nodiscard]] kube::ApiResult<boost::json::object> Send(kube::ApiClient::Call call);
  [[nodiscard]] base::Result<std::string> Text(const std::string& path);
  [[nodiscard]] base::Result<std::string> Fetch(const std::string& url);

  const base::SystemClock clock_;
  std::optional<kube::ApiClient> api_;
  HttpLoop loop_;  // last: its thread ends before what its callbacks use
};

}  // namespace activescale::app
