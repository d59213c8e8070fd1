#pragma once

#include "base/warning_gate.h"
#include "metricsapi/access_control.h"
#include "metricsapi/authenticator.h"
#include "metricsapi/authorizer.h"

namespace activescale::metricsapi {

/// Lets kube-apiserver decide who may read which metrics: finds out who asks, then whether they
/// may. What was refused and why is logged, one line of each kind in a while. Threads: any.
class DelegatedAccess final : public AccessControl {
 public:
  /// All of them must outlive this and every answer.
  DelegatedAccess(Authenticator& authenticator, Authorizer& authorizer, const base::Clock& clock)
      : authenticator_(authenticator), authorizer_(authorizer), clock_(clock) {}

  void Check(const net::HttpRequest& request, const RequestInfo& info, Decision done) override;

 private:
  void Log(const net::HttpRequest& request, const base::Error& error);

  Authenticator& authenticator_;
  Authorizer& authorizer_;
  const base::Clock& clock_;
  base::WarningGate unauthenticated_;
  base::WarningGate forbidden_;
};

}  // namespace activescale::metricsapi
