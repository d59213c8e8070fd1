#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "kube/credentials.h"
#include "net/http_client.h"

namespace activescale::kube {

/// Why a call to the API server failed.
struct ApiError {
  base::Error error;
  int http_status = 0;  // 0: there was no answer
  std::string reason;   // the Status' reason, e.g. "Conflict", "AlreadyExists"
  std::optional<std::chrono::seconds> retry_after;
};

template <typename T>
using ApiResult = std::expected<T, ApiError>;

/// Talks JSON with one API server, with the credentials of one access. Threads: any; callbacks run
/// on the HTTP client's loop, each exactly once.
class ApiClient {
 public:
  struct Call {
    std::string method = "GET";
    std::string path;          // with query: "/api/v1/pods?limit=1"
    std::string content_type;  // of the body
    std::string body;
    std::chrono::milliseconds timeout{10'000};
    bool fresh_connection = false;
  };
  using Callback = std::move_only_function<void(ApiResult<boost::json::object>)>;

  /// `http` and `clock` must outlive it, and `http` its calls.
  ApiClient(net::HttpClient& http, ClusterAccess access, const base::Clock& clock);

  /// One call. A token that the server refuses is read again and, if it changed, the call is made
  /// once more. The error's code follows the HTTP status, as base::HttpStatus the other way around;
  /// without an answer it is HttpClient's.
  void Send(Call call, Callback done);

  struct StreamCall {
    std::string path;
    std::string accept;
    std::chrono::milliseconds timeout{0};
    std::chrono::milliseconds idle_timeout{0};
    bool fresh_connection = false;
  };
  struct StreamCallbacks {
    std::move_only_function<void()> on_open;                        // the answer is a 2xx
    std::move_only_function<bool(std::string_view)> on_body;        // false ends the call
    std::move_only_function<void(std::optional<ApiError>)> on_end;  // nothing: it was complete
  };
  /// One GET whose answer is read as it comes. A refused token is read again for the next call.
  net::HttpClient::RequestId Stream(StreamCall call, StreamCallbacks callbacks);

  [[nodiscard]] const ClusterAccess& access() const { return access_; }
  [[nodiscard]] net::HttpClient& http() { return http_; }

 private:
  [[nodiscard]] net::ClientRequest Request(std::string_view path, std::string_view accept);
  void SendOnce(Call call, bool may_retry, Callback done);
  [[nodiscard]] ApiError FromAnswer(std::string_view method, std::string_view path,
                                    const net::ClientResponse& answer) const;

  net::HttpClient& http_;
  const ClusterAccess access_;
  TokenSource token_;
};

/// `text` with all but unreserved characters percent-encoded, for one value of a query.
[[nodiscard]] std::string QueryEscape(std::string_view text);

}  // namespace activescale::kube
