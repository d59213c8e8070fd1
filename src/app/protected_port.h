#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "app/config.h"
#include "app/thread.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/snapshot.h"
#include "metricsapi/access_control.h"
#include "metricsapi/access_gate.h"
#include "net/http_server.h"
#include "net/io_loop.h"
#include "net/tls_context.h"

namespace activescale::app {

/// An HTTP port with a thread of its own, besides that of the Custom Metrics API. With a token file
/// it is HTTPS and the token counts; else with insecure-no-auth, or on loopback outside of a
/// cluster, plain HTTP for everybody; else HTTPS, and kube-apiserver says who may.
class ProtectedPort {
 public:
  struct Options {
    std::string name;  // of the thread, and in the log
    ListenAddress address;
    std::string token_file;
    /// What kube-apiserver is asked for: a verb on a path, as nonResourceURLs of a role name it.
    std::string verb;
    std::string permission;
    /// Plain HTTP for everybody on loopback, in a cluster, too: who may forward a port to the pod
    /// may look.
    bool open_on_loopback = false;
    /// Handles what a caller asks for who was let through; empty: the handler, whoever it is.
    metricsapi::AccessGate::Next of_caller;
    size_t max_body_bytes = size_t{1} << 20;
    metricsapi::AccessGate::Refuse refuse;
    std::function<net::HttpResponse(int status, std::string_view message)> render_error;
  };
  struct Parts {
    const Config& config;
    const base::Clock& clock;
    const base::Snapshot<net::TlsContext>& tls;
    metricsapi::AccessControl* cluster_access = nullptr;  // null: no cluster
    std::function<void(net::ConnectionEvent)> observe;
  };

  /// Binds the address. Parts and handler must outlive this. Errors: as HttpServer::Listen.
  [[nodiscard]] static base::Result<std::unique_ptr<ProtectedPort>> Open(Options options,
                                                                         Parts parts,
                                                                         net::HttpHandler& handler);
  ~ProtectedPort() { Stop(); }
  ProtectedPort(const ProtectedPort&) = delete;
  ProtectedPort& operator=(const ProtectedPort&) = delete;

  [[nodiscard]] net::IoLoop& loop() { return loop_; }

  void Start();
  /// As HttpServer::Drain.
  bool Drain(std::chrono::milliseconds deadline) { return server_->Drain(deadline); }
  /// Ends the thread.
  void Stop();

 private:
  ProtectedPort() = default;

  std::string name_;
  net::IoLoop loop_;
  std::unique_ptr<metricsapi::AccessControl> token_;
  std::unique_ptr<metricsapi::AccessGate> gate_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace activescale::app
