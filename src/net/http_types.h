#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace activescale::net {

using Header = std::pair<std::string, std::string>;

/// What the TLS layer knows of the client's certificate. It is asked for, not required, and not
/// verified there: a bad one must become a 401 with a Status, not a broken handshake.
struct PeerCertificate {
  std::string chain_pem;  // leaf first; empty if the client sent none
};

/// A request as it came, without I/O types.
struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // as sent, e.g. "/apis/x/namespaces/a/pods/%2A/m?labelSelector=a%3Db"
  std::vector<Header> headers;  // in the order sent, names as sent; compare without case
  std::string body;
  std::string peer_address;                                 // "127.0.0.1:40312"
  std::shared_ptr<const PeerCertificate> peer_certificate;  // one per connection; null without TLS

  /// The first header of that name (any case), valid while the request is; "" if absent.
  [[nodiscard]] std::string_view FindHeader(std::string_view name) const;
};

class HttpStream;

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<Header> headers;  // besides Content-Type, Content-Length and Connection
  /// If there is one, what follows `body` in pieces; the connection is closed after it.
  std::shared_ptr<HttpStream> stream;
};

/// Takes the answer; called exactly once, from any thread.
using HttpResponder = std::move_only_function<void(HttpResponse)>;

/// What an HTTP server serves. Handle must not block and may answer later. Threads: any.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  virtual void Handle(HttpRequest request, HttpResponder respond) = 0;
};

}  // namespace activescale::net
