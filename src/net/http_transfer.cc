#include "net/http_transfer.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace activescale::net {
namespace {

// A peer that vanished is noticed in 15 + 3 x 5 s, whether we wait for it or send to it.
constexpr int kKeepAliveIdleSeconds = 15;
constexpr int kKeepAliveIntervalSeconds = 5;
constexpr int kKeepAliveProbes = 3;
constexpr unsigned kUnackedTimeoutMs = 30'000;

int TuneSocket(void* /*unused*/, curl_socket_t fd, curlsocktype /*purpose*/) {
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAliveIdleSeconds, sizeof(int));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepAliveIntervalSeconds, sizeof(int));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kKeepAliveProbes, sizeof(int));
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnackedTimeoutMs, sizeof(unsigned));
  return CURL_SOCKOPT_OK;
}

/// `url` without its query, which may be long or hold what a log should not.
std::string_view WithoutQuery(std::string_view url) { return url.substr(0, url.find('?')); }

/// Splits "https://host:port/path" at the places where the authority starts and ends.
std::pair<size_t, size_t> Authority(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  return {begin, std::min(url.find_first_of("/?", begin), url.size())};
}

size_t HeaderThunk(char* data, size_t size, size_t count, void* self) {
  static_cast<Transfer*>(self)->OnHeaderLine({data, size * count});
  return size * count;
}

size_t BodyThunk(char* data, size_t size, size_t count, void* self) {
  return static_cast<Transfer*>(self)->OnBody({data, size * count}) ? size * count : 0;
}

curl_blob Blob(const std::string& text) {
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
}

}  // namespace

Transfer::~Transfer() {
  if (easy != nullptr) curl_easy_cleanup(easy);
  curl_slist_free_all(headers_);
  curl_slist_free_all(connect_to_);
}

// Of 1xx answers and proxies' there is an earlier status line; only the last counts.
void Transfer::OnHeaderLine(std::string_view line) {
  last_activity = std::chrono::steady_clock::now();
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {
    response = ClientResponse{};
    return;
  }
  if (line.empty()) {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    response.status = static_cast<int>(status);
    if (status >= 200 && stream && stream->on_headers) stream->on_headers(response);
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) {
    value.remove_prefix(1);
  }
  response.headers.emplace_back(line.substr(0, colon), value);
}

bool Transfer::OnBody(std::string_view piece) {
  last_activity = std::chrono::steady_clock::now();
  if (stream) {
    if (stream->on_body(piece)) return true;
    verdict = Verdict::kRefusedByStream;
    return false;
  }
  if (response.body.size() + piece.size() > request.max_body_bytes) {
    verdict = Verdict::kTooLarge;
    return false;
  }
  response.body.append(piece);
  return true;
}

base::Error Transfer::Failure(CURLcode code) const {
  const std::string what = fmt::format("{} {}", request.method, WithoutQuery(request.url));
  switch (verdict) {
    case Verdict::kTooLarge:
      return {base::Code::kResourceExhausted,
              fmt::format("{}: the answer is larger than {} bytes", what, request.max_body_bytes)};
    case Verdict::kRefusedByStream:
      return {base::Code::kUnavailable, what + ": ended by the reader of the body"};
    case Verdict::kIdle:
      return {base::Code::kDeadlineExceeded,
              fmt::format("{}: nothing came for {} ms", what, request.idle_timeout.count())};
    case Verdict::kWaitedTooLong:
      return {base::Code::kDeadlineExceeded,
              fmt::format("{}: not sent within {} ms, other requests were in flight", what,
                          request.timeout.count())};
    case Verdict::kNone:
      break;
  }
  const std::string_view detail = error_[0] != '\0' ? error_.data() : curl_easy_strerror(code);
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return {base::Code::kDeadlineExceeded, fmt::format("{}: {}", what, detail)};
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return {base::Code::kInvalidArgument,
              fmt::format("{}: not a usable http or https URL: {}", what, detail)};
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
      return {
          base::Code::kInvalidArgument,
          fmt::format("{}: the certificate, key or CA to use is not readable: {}", what, detail)};
    case CURLE_PEER_FAILED_VERIFICATION:
      return {base::Code::kUnavailable,
              fmt::format("{}: the server's certificate is not trusted: {}; check the CA and the "
                          "server name",
                          what, detail)};
    default:
      return {base::Code::kUnavailable, fmt::format("{}: {}", what, detail)};
  }
}

void Transfer::PrepareTls(const ClientTls& tls) {
  if (!tls.ca_file.empty()) curl_easy_setopt(easy, CURLOPT_CAINFO, tls.ca_file.c_str());
  if (!tls.ca_pem.empty()) {
    curl_blob blob = Blob(tls.ca_pem);
    curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
  }
  if (!tls.cert_file.empty()) curl_easy_setopt(easy, CURLOPT_SSLCERT, tls.cert_file.c_str());
  if (!tls.cert_pem.empty()) {
    curl_blob blob = Blob(tls.cert_pem);
    curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &blob);
  }
  if (!tls.key_file.empty()) curl_easy_setopt(easy, CURLOPT_SSLKEY, tls.key_file.c_str());
  if (!tls.key_pem.empty()) {
    curl_blob blob = Blob(tls.key_pem);
    curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &blob);
  }
  if (tls.insecure_skip_verify) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (tls.server_name.empty()) return;
  // libcurl has no option for the name to verify: the URL gets that name, CONNECT_TO the real
  // address, and Host stays what it was.
  const auto [begin, end] = Authority(request.url);
  const std::string authority = request.url.substr(begin, end - begin);
  const size_t colon = authority.rfind(':');
  const bool has_port =
      colon != std::string::npos && authority.find(']', colon) == std::string::npos;
  const std::string port = has_port ? authority.substr(colon) : "";
  const std::string to = fmt::format("::{}", has_port ? authority : authority + ":443");
  connect_to_ = curl_slist_append(nullptr, to.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to_);
  const std::string url = fmt::format("{}{}{}{}", request.url.substr(0, begin), tls.server_name,
                                      port, request.url.substr(end));
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  headers_ = curl_slist_append(headers_, ("Host: " + authority).c_str());
}

base::SteadyTime Transfer::Deadline() const {
  return request.timeout.count() > 0 ? submitted + request.timeout : base::SteadyTime::max();
}

void Transfer::Prepare() {
  easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_.data());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // a proxy's are not the answer
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  // Not HTTP/2: with libcurl 7.88 (Debian 12) transfers that share a connection stop for good when
  // their data is read on behalf of another one; seen with lists of kube-apiserver beside watches.
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);  // a rotated CA counts at once
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(request.connect_timeout.count()));
  last_activity = std::chrono::steady_clock::now();
  if (request.timeout.count() > 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(Deadline() - last_activity);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, std::max<long>(1, static_cast<long>(left.count())));
  }
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, &TuneSocket);
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, request.fresh_connection ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &HeaderThunk);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &BodyThunk);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  if (request.accept_gzip) curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
  if (!request.proxy.empty()) curl_easy_setopt(easy, CURLOPT_PROXY, request.proxy.c_str());
  for (const auto& [name, value] : request.headers) {
    headers_ = curl_slist_append(headers_, fmt::format("{}: {}", name, value).c_str());
  }
  headers_ = curl_slist_append(headers_, "Expect:");  // no pause before a body
  if (request.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (!request.body.empty() || request.method == "POST" || request.method == "PUT" ||
             request.method == "PATCH") {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  if (request.method != "HEAD") {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  if (request.tls != nullptr) PrepareTls(*request.tls);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_);
}

}  // namespace activescale::net
