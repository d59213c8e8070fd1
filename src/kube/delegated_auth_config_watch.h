#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/snapshot.h"
#include "kube/delegated_auth_config.h"
#include "kube/watcher.h"
#include "telemetry/health.h"
#include "telemetry/registry.h"

namespace activescale::kube {

/// Follows the ConfigMap of DelegatedAuthConfig. A broken or deleted one keeps the last good.
/// Threads: Start and the questions, any. Destroy it only when the HTTP client's Run has returned.
class DelegatedAuthConfigWatch {
 public:
  struct Context {
    ApiClient& api;
    telemetry::Registry& registry;
    const base::Clock& clock;
    std::function<double()> random;
    Watcher::Options watcher;
  };
  explicit DelegatedAuthConfigWatch(const Context& context);

  void Start() { watcher_.Start(); }
  /// The newest good configuration; null until there is one.
  [[nodiscard]] std::shared_ptr<const DelegatedAuthConfig> Get() const { return config_.Get(); }
  /// Ok once there is a configuration.
  [[nodiscard]] telemetry::CheckResult Health() const;

 private:
  void OnConfigMap(const boost::json::object& config_map);

  base::Snapshot<DelegatedAuthConfig> config_;
  base::Snapshot<std::string> fault_;  // of the newest one, null if it is good
  telemetry::Counter& refused_;
  FunctionSink sink_;
  Watcher watcher_;
};

}  // namespace activescale::kube
