#include "metricsapi/access_gate.h"

#include <memory>
#include <utility>

namespace activescale::metricsapi {
namespace {

struct Call {
  net::HttpRequest request;
  net::HttpResponder respond;
};

}  // namespace

void AccessGate::Handle(net::HttpRequest request, net::HttpResponder respond) {
  auto call = std::make_unique<Call>(Call{std::move(request), std::move(respond)});
  const net::HttpRequest& checked = call->request;
  access_.Check(checked, permission_,
                [this, call = std::move(call)](base::Result<kube::UserInfo> caller) mutable {
                  if (!caller) return call->respond(refuse_(caller.error()));
                  auto go = [this, call = std::move(call), caller = *std::move(caller)] {
                    next_(caller, std::move(call->request), std::move(call->respond));
                  };
                  if (loop_.OnLoopThread()) return go();
                  loop_.Post(std::move(go));
                });
}

}  // namespace activescale::metricsapi
