#include "app/protected_port.h"

#include <utility>

#include "app/setting_values.h"
#include "base/log.h"
#include "metricsapi/bearer_file.h"

namespace activescale::app {

base::Result<std::unique_ptr<ProtectedPort>> ProtectedPort::Open(Options options, Parts parts,
                                                                 net::HttpHandler& handler) {
  std::unique_ptr<ProtectedPort> port(new ProtectedPort);
  port->name_ = options.name;
  metricsapi::AccessControl* access = nullptr;
  if (!options.token_file.empty()) {
    port->token_ = std::make_unique<metricsapi::BearerFile>(options.token_file);
    access = port->token_.get();
  } else if (!parts.config.insecure_no_auth &&
             !(options.open_on_loopback && IsLoopback(options.address.host))) {
    access = parts.cluster_access;
  }
  if (access != nullptr) {
    metricsapi::AccessGate::Next next = std::move(options.of_caller);
    if (!next) {
      next = [&handler](const kube::UserInfo& /*caller*/, net::HttpRequest request,
                        net::HttpResponder respond) {
        handler.Handle(std::move(request), std::move(respond));
      };
    }
    port->gate_ = std::make_unique<metricsapi::AccessGate>(
        *access,
        metricsapi::RequestInfo{.verb = std::move(options.verb),
                                .path = std::move(options.permission)},
        std::move(next), std::move(options.refuse), port->loop_);
  }
  auto server = net::HttpServer::Listen(
      port->loop_,
      {.name = options.name,
       .bind_address = options.address.host,
       .port = options.address.port,
       .tls = access != nullptr ? &parts.tls : nullptr,
       .limits = {.max_body_bytes = options.max_body_bytes},
       .observe = std::move(parts.observe),
       .render_error = std::move(options.render_error)},
      access != nullptr ? static_cast<net::HttpHandler&>(*port->gate_) : handler, parts.clock);
  if (!server) return std::unexpected(std::move(server.error()));
  port->server_ = *std::move(server);
  LOG_INFO("{} listening on {}:{} ({})", options.name, options.address.host, port->server_->port(),
           access == nullptr ? "HTTP, open to everybody who reaches it"
           : port->token_    ? "HTTPS, by token"
                             : "HTTPS, whom kube-apiserver allows");
  return port;
}

void ProtectedPort::Start() {
  thread_ = std::make_unique<Thread>(name_, [this] { loop_.Run(); });
}

void ProtectedPort::Stop() {
  loop_.Stop();
  thread_.reset();
}

}  // namespace activescale::app
