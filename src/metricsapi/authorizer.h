#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "kube/reviews.h"
#include "metricsapi/request_info.h"
#include "metricsapi/review_cache.h"
#include "telemetry/registry.h"

namespace activescale::metricsapi {

/// Its members may do everything.
inline constexpr std::string_view kMastersGroup = "system:masters";

/// Asks kube-apiserver whether a user may do what a request means. The group system:masters may do
/// everything, and the paths of probes are open to all. A review that fails is no permission.
/// Threads: any.
/// Source: kubernetes/apiserver:pkg/server/options/authorization.go.
class Authorizer {
 public:
  struct Options {
    /// A "*" at the end makes a prefix. They hold for paths, not for resources.
    std::vector<std::string> always_allow_paths = {"/healthz", "/livez", "/readyz"};
    std::chrono::nanoseconds ttl = std::chrono::seconds(10);  // of yes and of no
  };
  /// Errors: kPermissionDenied, in Kubernetes' words.
  using Callback = std::move_only_function<void(base::Result<void>)>;

  /// All of them must outlive this and every answer.
  Authorizer(kube::AccessReviewer& reviewer, const base::Clock& clock,
             telemetry::Registry& registry, Options options);

  /// `done` runs exactly once. The arguments are not used after the call returns.
  void Authorize(const kube::UserInfo& user, const RequestInfo& info, Callback done);

 private:
  enum Outcome { kAlwaysAllowed, kMasters, kAllowed, kDenied, kFailed, kOutcomes };

  [[nodiscard]] bool IsAlwaysAllowed(const RequestInfo& info) const;
  void Review(kube::AccessAttributes attributes, ReviewCache<kube::AccessDecision>::Callback done);

  kube::AccessReviewer& reviewer_;
  const Options options_;
  ReviewCache<kube::AccessDecision> cache_;
  std::array<telemetry::Counter*, kOutcomes> outcomes_{};
};

}  // namespace activescale::metricsapi
