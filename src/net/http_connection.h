#pragma once

#include <memory>
#include <unordered_set>

#include <boost/asio/ip/tcp.hpp>

#include "base/clock.h"
#include "net/http_server.h"
#include "net/http_types.h"
#include "net/loop_core.h"

namespace activescale::net {

class HttpConnection;

/// What the connections of one server share. Belongs to the loop's thread.
/// Holds no strong reference to the LoopCore: pending operations inside of it hold this.
struct ConnectionContext {
  std::weak_ptr<LoopCore> loop;
  HttpServerOptions options;
  HttpHandler& handler;
  const base::Clock& clock;
  std::unordered_set<HttpConnection*> open;
  bool draining = false;
  std::function<void()> all_closed;  // called once when `draining` and `open` is empty

  void Observe(ConnectionEvent event) const {
    if (options.observe) options.observe(event);
  }
  /// When a connection that begins now is old enough to be closed with its next answer.
  [[nodiscard]] base::SteadyTime RetireTime() const;
};

/// One accepted socket. Kept alive by its pending operation or by the responder of its request.
/// All functions run on the loop's thread.
class HttpConnection {
 public:
  virtual ~HttpConnection() = default;

  virtual void Start() = 0;
  /// Closes the connection if its deadline has passed.
  virtual void Sweep(base::SteadyTime now) = 0;
  /// Closes it if it is idle, else with its next answer.
  virtual void Drain() = 0;
  /// Closes it now, whatever it does.
  virtual void Abort() = 0;
};

/// Serves `socket`, over TLS if the options say so.
[[nodiscard]] std::shared_ptr<HttpConnection> MakeConnection(
    boost::asio::ip::tcp::socket socket, std::shared_ptr<ConnectionContext> context);

}  // namespace activescale::net
