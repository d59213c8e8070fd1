#pragma once

#include <functional>

#include "base/error.h"
#include "metricsapi/access_control.h"
#include "metricsapi/request_info.h"
#include "net/http_types.h"
#include "net/io_loop.h"

namespace activescale::metricsapi {

/// Lets through who has one permission. What they asked for is handled on the loop's thread,
/// wherever the decision was made.
class AccessGate final : public net::HttpHandler {
 public:
  /// Makes the answer to who may not.
  using Refuse = std::function<net::HttpResponse(const base::Error&)>;

  /// As HttpHandler::Handle, of who was let through.
  using Next = std::function<void(const kube::UserInfo& caller, net::HttpRequest request,
                                  net::HttpResponder respond)>;

  /// `loop` is that of the server. All of them must outlive this and every decision.
  AccessGate(AccessControl& access, RequestInfo permission, Next next, Refuse refuse,
             net::IoLoop& loop)
      : access_(access),
        permission_(std::move(permission)),
        next_(std::move(next)),
        refuse_(std::move(refuse)),
        loop_(loop) {}

  void Handle(net::HttpRequest request, net::HttpResponder respond) override;

 private:
  AccessControl& access_;
  const RequestInfo permission_;
  const Next next_;
  const Refuse refuse_;
  net::IoLoop& loop_;
};

}  // namespace activescale::metricsapi
