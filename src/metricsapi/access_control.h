#pragma once

#include <functional>

#include "base/error.h"
#include "metricsapi/request_info.h"
#include "net/http_types.h"

namespace activescale::metricsapi {

/// Decides who may go on with which request. Threads: any.
class AccessControl {
 public:
  /// Nothing wrong: the request goes on. Errors: kUnauthenticated (401), the credentials are bad;
  /// kPermissionDenied (403), they are good for something else; others as they are.
  using Decision = std::move_only_function<void(base::Result<void>)>;

  virtual ~AccessControl() = default;
  /// `request` and `info` live until `done` has run, which happens exactly once, on any thread.
  virtual void Check(const net::HttpRequest& request, const RequestInfo& info, Decision done) = 0;
};

}  // namespace activescale::metricsapi
