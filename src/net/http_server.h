#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/snapshot.h"
#include "net/http_types.h"
#include "net/io_loop.h"
#include "net/tls_context.h"

namespace activescale::net {

/// What happens to connections, for counters.
enum class ConnectionEvent : uint8_t {
  kOpened,
  kClosed,  // once for each kOpened, whatever the reason
  kRefusedTooMany,
  kHandshakeFailed,   // TLS garbage, a version below 1.2, or the client went away in it
  kHandshakeTimeout,  // no whole TLS handshake in time
  kRequestMalformed,  // answered with 400
  kHeaderTooLarge,    // 431
  kBodyTooLarge,      // 413
  kRequestTimeout,    // a request that did not arrive whole in time (slow-loris)
  kWriteTimeout,      // the client does not read its answer
  kStreamOverflow,    // the client does not read a stream as fast as it comes
  kIdleTimeout,
  kRetired,  // closed after an answer, by age, number of requests or drain
};
inline constexpr size_t kConnectionEventCount = 13;

/// The event as a label value: "handshake_failed".
[[nodiscard]] std::string_view ConnectionEventName(ConnectionEvent event);

struct HttpServerLimits {
  size_t max_connections = 1024;
  size_t max_header_bytes = 64 * 1024;  // request line and fields together
  size_t max_body_bytes = 1024 * 1024;
  std::chrono::milliseconds handshake_timeout{10'000};
  std::chrono::milliseconds request_timeout{10'000};  // first byte to last byte of one request
  std::chrono::milliseconds write_timeout{30'000};    // one whole answer
  /// Longer than the 90 s after which Go's clients drop an idle connection themselves, so that
  /// none is closed under a request that is on its way.
  std::chrono::milliseconds idle_timeout{120'000};
  /// A connection older than this (±10 %) or with more requests is closed with its next answer,
  /// so that clients which keep one connection for ever spread over replicas. 0: never.
  std::chrono::milliseconds max_connection_age{600'000};
  size_t max_connection_requests = 10'000;
  /// How often the timeouts above are looked at.
  std::chrono::milliseconds sweep_interval{500};
};

struct HttpServerOptions {
  std::string name = "http";                        // for log lines
  std::string bind_address = "127.0.0.1";           // an IP address; "::" also takes IPv4
  uint16_t port = 0;                                // 0: one that is free
  const base::Snapshot<TlsContext>* tls = nullptr;  // null: plain HTTP
  HttpServerLimits limits;
  /// Called on the loop's thread.
  std::function<void(ConnectionEvent)> observe;
  /// Makes the body of an answer to a request that never reached the handler. Null: plain text.
  std::function<HttpResponse(int status, std::string_view message)> render_error;
};

/// An HTTP/1.1 server on a loop: keep-alive, pipelining in order, graceful close. A handler that
/// drops its responder answers 500; a responder may be called after the server and the loop are
/// gone. Everything that `options` points to, the handler and the clock must outlive the loop.
class HttpServer {
 public:
  /// Binds at once and serves as soon as the loop runs. Errors: kInvalidArgument for an address
  /// that is none, kUnavailable if it cannot be bound.
  static base::Result<std::unique_ptr<HttpServer>> Listen(IoLoop& loop, HttpServerOptions options,
                                                          HttpHandler& handler,
                                                          const base::Clock& clock);
  /// Closes what is open. Before the loop is destroyed. Threads: any.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] uint16_t port() const { return port_; }

  /// Stops accepting, lets requests in flight be answered with `Connection: close`, closes idle
  /// connections, and cuts what is left when `deadline` has passed.
  /// Returns whether all were closed in peace. Blocks: never call it on the loop's thread.
  bool Drain(std::chrono::milliseconds deadline);

 private:
  struct State;
  HttpServer(std::shared_ptr<LoopCore> loop, std::shared_ptr<State> state, uint16_t port,
             IoLoop::Ticker sweep);

  std::shared_ptr<LoopCore> loop_;
  std::shared_ptr<State> state_;
  uint16_t port_;
  IoLoop::Ticker sweep_;  // last: it stops before the rest goes
};

}  // namespace activescale::net
