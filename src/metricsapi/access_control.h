#pragma once

#include <functional>

#include "base/error.h"
#include "kube/reviews.h"
#include "metricsapi/request_info.h"
#include "net/http_types.h"

namespace activescale::metricsapi {

/// Decides who may go on with which request. Threads: any.
class AccessControl {
 public:
  /// Who asks, and may go on; without a name where credentials name nobody. Errors:
  /// kUnauthenticated (401), the credentials are bad; kPermissionDenied (403), they are good for
  /// something else; others as they are.
  using Decision = std::move_only_function<void(base::Result<kube::UserInfo>)>;

  virtual ~AccessControl() = default;
  /// `request` and `info` live until `done` has run, which happens exactly once, on any thread.
  virtual void Check(const net::HttpRequest& request, const RequestInfo& info, Decision done) = 0;
};

}  // namespace activescale::metricsapi
