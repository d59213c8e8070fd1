#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "net/http_types.h"
#include "net/timer_queue.h"

namespace activescale::net {

/// How a client proves a server and itself. Of a file and its `_pem` twin at most one is set; files
/// are read again for every new connection, so that rotated ones are taken up.
struct ClientTls {
  std::string ca_file;  // empty, and ca_pem empty too: the system's authorities
  std::string ca_pem;
  std::string cert_file;
  std::string cert_pem;
  std::string key_file;
  std::string key_pem;
  std::string server_name;            // to ask for (SNI) and verify; empty: the URL's host
  bool insecure_skip_verify = false;  // accepts any certificate

  friend bool operator==(const ClientTls&, const ClientTls&) = default;
};

struct ClientRequest {
  std::string method = "GET";
  std::string url;              // http or https
  std::vector<Header> headers;  // Content-Length and Host are set by the client
  std::string body;
  std::shared_ptr<const ClientTls> tls;  // null: the system's authorities, no client certificate
  std::string proxy;                     // URL; empty: what HTTPS_PROXY and NO_PROXY say
  /// Limits, each 0 for none: until connected, for all of it with the wait for a turn, between two
  /// bytes.
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds timeout{30'000};
  std::chrono::milliseconds idle_timeout{0};
  /// Does not reuse a kept connection: for a retry after a deadline, whose connection may be dead.
  bool fresh_connection = false;
  /// Of a collected body, without compression; more is kResourceExhausted.
  size_t max_body_bytes = size_t{16} << 20;
  /// Asks for a compressed answer; its body comes without compression.
  bool accept_gzip = false;
};

struct ClientResponse {
  int status = 0;
  std::vector<Header> headers;
  std::string body;  // empty if the body was streamed

  /// The first header of that name (any case), valid while the response is; "" if absent.
  [[nodiscard]] std::string_view FindHeader(std::string_view name) const;
};

/// Any answer of the server is a value, whatever its status. Errors: kDeadlineExceeded, a limit of
/// time was hit; kUnavailable, no connection, a broken one, a refused certificate, cancelled or
/// stopped; kResourceExhausted, too large a body or too many requests waiting; kInvalidArgument,
/// unusable URL, key or certificate.
using ResponseCallback = std::move_only_function<void(base::Result<ClientResponse>)>;

/// Takes a body in pieces instead of having it collected. Called on the loop's thread.
struct BodyStream {
  /// The status and headers are there; no body yet. May be empty.
  std::move_only_function<void(const ClientResponse&)> on_headers;
  /// A piece, valid during the call. False ends the request with kUnavailable.
  std::move_only_function<bool(std::string_view)> on_body;
};

/// HTTP/1.1 client on libcurl, with timers, in one loop that a thread of `app` runs.
/// Threads: any, but for timers.
/// All callbacks run on the loop's thread, one at a time; each completion runs exactly once.
class HttpClient {
 public:
  using RequestId = uint64_t;

  struct Options {
    size_t max_in_flight = 64;  // of requests that are not streamed; the others wait
    size_t max_waiting = 1024;  // more are refused
  };

  HttpClient();
  explicit HttpClient(Options options);
  /// Run must have returned, or never been called.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Works until Stop; unfinished requests then complete with kUnavailable, before it returns.
  /// Timers that are not due are dropped.
  void Run();
  void Stop();
  /// Whether Stop was called. Threads: any.
  [[nodiscard]] bool stopped() const;

  /// Sends a request; its body is collected. After Stop, `done` runs at once on this thread.
  RequestId Submit(ClientRequest request, ResponseCallback done);
  /// Sends a request whose answer's body goes to `stream`. Does not count against max_in_flight.
  RequestId SubmitStream(ClientRequest request, BodyStream stream, ResponseCallback done);
  /// Ends a request; its completion runs with kUnavailable unless it ran already.
  void Cancel(RequestId id);

  /// Runs something on the loop's thread. Dropped after Stop.
  void Post(std::move_only_function<void()> run);
  /// Timers. Threads: the loop's, or any before Run.
  TimerId RunAfter(std::chrono::nanoseconds delay, std::move_only_function<void()> run);
  void CancelTimer(TimerId id);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace activescale::net
