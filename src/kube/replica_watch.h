#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "kube/watcher.h"
#include "telemetry/registry.h"

namespace activescale::kube {

/// Which replicas of ours are ready, from the EndpointSlices of our own Service (one that does not
/// publish addresses that are not ready). Threads: Start and ReadyPods, any. Destroy it only when
/// the HTTP client's Run has returned.
class ReplicaWatch {
 public:
  struct Context {
    ApiClient& api;
    telemetry::Registry& registry;
    const base::Clock& clock;
    std::function<double()> random;
    Watcher::Options watcher;
  };
  ReplicaWatch(const Context& context, const std::string& ns, const std::string& service);

  void Start() { watcher_.Start(); }
  /// Names of the ready pods, in order. Errors: kUnavailable, not listed yet.
  [[nodiscard]] base::Result<std::vector<std::string>> ReadyPods() const;

 private:
  void OnSlice(const boost::json::object& slice);

  mutable base::Mutex mutex_;
  std::map<std::string, std::set<std::string>, std::less<>> ready_ GUARDED_BY(mutex_);  // by slice
  FunctionSink sink_;
  Watcher watcher_;
};

}  // namespace activescale::kube
