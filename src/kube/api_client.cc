#include "kube/api_client.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include <boost/json/parse.hpp>

#include "kube/json.h"

namespace activescale::kube {
namespace {

namespace json = boost::json;

constexpr size_t kMaxMessage = 512;
constexpr size_t kMaxErrorBody = size_t{64} << 10;
constexpr std::string_view kJson = "application/json";

base::Code CodeOf(int http_status) {
  switch (http_status) {
    case 400:
    case 422:
      return base::Code::kInvalidArgument;
    case 401:
      return base::Code::kUnauthenticated;
    case 403:
      return base::Code::kPermissionDenied;
    case 404:
    case 410:
      return base::Code::kNotFound;
    case 429:
      return base::Code::kResourceExhausted;
    case 504:
      return base::Code::kDeadlineExceeded;
    default:
      return http_status >= 500 ? base::Code::kUnavailable : base::Code::kInternal;
  }
}

std::string_view HintOf(int http_status) {
  switch (http_status) {
    case 401:
      return "; it does not accept our credentials: check the token or client certificate of ";
    case 403:
      return "; grant it by RBAC to the user of ";
    default:
      return {};
  }
}

bool IsSuccess(int status) { return status >= 200 && status < 300; }

json::object ParseObject(std::string_view text) {
  json::error_code error;
  json::value value = json::parse(text, error);
  if (error || !value.is_object()) return {};
  return std::move(value.get_object());
}

}  // namespace

std::string QueryEscape(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
  return out;
}

ApiClient::ApiClient(net::HttpClient& http, ClusterAccess access, const base::Clock& clock)
    : http_(http), access_(std::move(access)), token_(access_, clock) {}

net::ClientRequest ApiClient::Request(std::string_view path, std::string_view accept) {
  net::ClientRequest request;
  request.url = access_.server + std::string(path);
  request.tls = access_.tls;
  request.proxy = access_.proxy;
  request.headers = {{"Accept", std::string(accept)}, {"User-Agent", "activescale"}};
  if (std::string token = token_.Get(); !token.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + std::move(token));
  }
  return request;
}

ApiError ApiClient::FromAnswer(std::string_view method, std::string_view path,
                               const net::ClientResponse& answer) const {
  const json::object status = ParseObject(answer.body);
  std::string_view message = FindString(status, {"message"});
  if (message.empty()) message = answer.body;
  const std::string_view hint = HintOf(answer.status);
  ApiError error;
  error.http_status = answer.status;
  error.reason = FindString(status, {"reason"});
  error.error = {
      CodeOf(answer.status),
      fmt::format("{} {}{}: the API server says {}: {}{}{}", method, access_.server,
                  path.substr(0, path.find('?')), answer.status, message.substr(0, kMaxMessage),
                  hint, hint.empty() ? std::string_view() : access_.origin)};
  const std::string_view retry_after = answer.FindHeader("Retry-After");
  int seconds = 0;
  const auto [end, failure] =
      std::from_chars(retry_after.data(), retry_after.data() + retry_after.size(), seconds);
  if (failure == std::errc() && end == retry_after.data() + retry_after.size() && seconds >= 0) {
    error.retry_after = std::chrono::seconds(seconds);
  }
  return error;
}

void ApiClient::Send(Call call, Callback done) { SendOnce(std::move(call), true, std::move(done)); }

void ApiClient::SendOnce(Call call, bool may_retry, Callback done) {
  net::ClientRequest request = Request(call.path, kJson);
  request.method = call.method;
  request.body = call.body;
  request.timeout = call.timeout;
  request.fresh_connection = call.fresh_connection;
  if (!call.body.empty()) request.headers.emplace_back("Content-Type", call.content_type);
  http_.Submit(std::move(request),
               [this, call = std::move(call), may_retry,
                done = std::move(done)](base::Result<net::ClientResponse> answer) mutable {
                 if (!answer) {
                   done(std::unexpected(ApiError{std::move(answer.error()), 0, {}, {}}));
                   return;
                 }
                 if (answer->status == 401 && may_retry && token_.Refresh()) {
                   SendOnce(std::move(call), false, std::move(done));
                   return;
                 }
                 if (!IsSuccess(answer->status)) {
                   done(std::unexpected(FromAnswer(call.method, call.path, *answer)));
                   return;
                 }
                 json::error_code failure;
                 json::value value = json::parse(answer->body, failure);
                 if (failure || !value.is_object()) {
                   done(std::unexpected(ApiError{
                       {base::Code::kInternal,
                        fmt::format("{} {}{}: the API server's answer is not a JSON object",
                                    call.method, access_.server, call.path)},
                       answer->status,
                       {},
                       {}}));
                   return;
                 }
                 done(std::move(value.get_object()));
               });
}

net::HttpClient::RequestId ApiClient::Stream(StreamCall call, StreamCallbacks callbacks) {
  net::ClientRequest request = Request(call.path, call.accept);
  request.timeout = call.timeout;
  request.idle_timeout = call.idle_timeout;
  request.fresh_connection = call.fresh_connection;

  /// What a refusal says is collected here; a 2xx goes through.
  struct State {
    StreamCallbacks callbacks;
    net::ClientResponse answer;
  };
  auto state = std::make_shared<State>(State{std::move(callbacks), {}});
  net::BodyStream stream;
  stream.on_headers = [state](const net::ClientResponse& answer) {
    state->answer = answer;
    if (IsSuccess(answer.status) && state->callbacks.on_open) state->callbacks.on_open();
  };
  stream.on_body = [state](std::string_view piece) {
    if (IsSuccess(state->answer.status)) return state->callbacks.on_body(piece);
    std::string& body = state->answer.body;
    body.append(piece.substr(0, kMaxErrorBody - std::min(kMaxErrorBody, body.size())));
    return true;
  };
  return http_.SubmitStream(
      std::move(request), std::move(stream),
      [this, state, path = std::move(call.path)](base::Result<net::ClientResponse> end) {
        if (!end) {
          state->callbacks.on_end(ApiError{std::move(end.error()), 0, {}, {}});
        } else if (!IsSuccess(state->answer.status)) {
          if (state->answer.status == 401) token_.Refresh();
          state->callbacks.on_end(FromAnswer("GET", path, state->answer));
        } else {
          state->callbacks.on_end(std::nullopt);
        }
      });
}

}  // namespace activescale::kube
