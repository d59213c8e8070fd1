#include "metricsapi/delegated_access.h"

#include <utility>

#include "base/log.h"

namespace activescale::metricsapi {

void DelegatedAccess::Check(const net::HttpRequest& request, const RequestInfo& info,
                            Decision done) {
  authenticator_.Authenticate(request, [this, &request, &info, done = std::move(done)](
                                           base::Result<kube::UserInfo> user) mutable {
    if (!user) {
      Log(request, user.error());
      return done(std::unexpected(std::move(user).error()));
    }
    authorizer_.Authorize(*user, info,
                          [this, &request, caller = *user,
                           done = std::move(done)](base::Result<void> allowed) mutable {
                            if (allowed) return done(std::move(caller));
                            Log(request, allowed.error());
                            done(std::unexpected(std::move(allowed).error()));
                          });
  });
}

void DelegatedAccess::Log(const net::HttpRequest& request, const base::Error& error) {
  base::WarningGate& gate =
      error.code == base::Code::kPermissionDenied ? forbidden_ : unauthenticated_;
  if (!gate.Pass(clock_.Now()) && !base::VerbosityAtLeast(2)) return;
  LOG_WARNING("refused {} {} from {}: {}", request.method,
              request.target.substr(0, request.target.find('?')), request.peer_address,
              error.message);
}

}  // namespace activescale::metricsapi
