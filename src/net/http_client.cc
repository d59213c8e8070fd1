#include "net/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

// Invariants:
// 1. Only the loop's thread touches curl; other threads put closures into the inbox and wake it.
// 2. No callback of a user runs while the inbox is locked, and none calls into curl: what it asks
//    for goes through the inbox too, so that it may ask from within a body callback.
// 3. A transfer is in `active_` or in `waiting_` until its completion runs, and in neither after.

namespace activescale::net {
namespace {

using std::chrono::milliseconds;

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

struct Transfer {
  enum class Verdict : uint8_t { kNone, kTooLarge, kRefusedByStream, kIdle };

  ~Transfer() {
    if (easy != nullptr) curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
    curl_slist_free_all(connect_to);
  }

  HttpClient::RequestId id = 0;
  ClientRequest request;
  std::optional<BodyStream> stream;
  ResponseCallback done;
  ClientResponse response;
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  curl_slist* connect_to = nullptr;
  std::array<char, CURL_ERROR_SIZE> error{};
  base::SteadyTime last_activity;
  bool headers_announced = false;
  Verdict verdict = Verdict::kNone;

  /// Of 1xx responses and proxies' answers there is an earlier status line; only the last counts.
  void OnHeaderLine(std::string_view line) {
    last_activity = std::chrono::steady_clock::now();
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    if (line.starts_with("HTTP/")) {
      response = ClientResponse{};
      headers_announced = false;
      return;
    }
    if (line.empty()) {
      long status = 0;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      response.status = static_cast<int>(status);
      if (status >= 200) AnnounceHeaders();
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

  void AnnounceHeaders() {
    if (headers_announced) return;
    headers_announced = true;
    if (stream && stream->on_headers) stream->on_headers(response);
  }

  bool OnBody(std::string_view piece) {
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

  [[nodiscard]] base::Error Failure(CURLcode code) const;
  void Prepare();
  void PrepareTls(const ClientTls& tls);
};

size_t HeaderThunk(char* data, size_t size, size_t count, void* self) {
  static_cast<Transfer*>(self)->OnHeaderLine({data, size * count});
  return size * count;
}

size_t BodyThunk(char* data, size_t size, size_t count, void* self) {
  return static_cast<Transfer*>(self)->OnBody({data, size * count}) ? size * count : 0;
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
    case Verdict::kNone:
      break;
  }
  const std::string_view detail = error[0] != '\0' ? error.data() : curl_easy_strerror(code);
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

curl_blob Blob(const std::string& text) {
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
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
  connect_to = curl_slist_append(nullptr, to.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to);
  const std::string url = fmt::format("{}{}{}{}", request.url.substr(0, begin), tls.server_name,
                                      port, request.url.substr(end));
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  headers = curl_slist_append(headers, ("Host: " + authority).c_str());
}

void Transfer::Prepare() {
  easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error.data());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);  // a rotated CA counts at once
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(request.connect_timeout.count()));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, &TuneSocket);
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, request.fresh_connection ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &HeaderThunk);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &BodyThunk);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  if (!request.proxy.empty()) curl_easy_setopt(easy, CURLOPT_PROXY, request.proxy.c_str());
  for (const auto& [name, value] : request.headers) {
    headers = curl_slist_append(headers, fmt::format("{}: {}", name, value).c_str());
  }
  headers = curl_slist_append(headers, "Expect:");  // no pause before a body
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
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  last_activity = std::chrono::steady_clock::now();
}

/// curl's process-wide state, made once and never torn down.
void InitCurl() {
  static const bool done = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  (void)done;
}

}  // namespace

std::string_view ClientResponse::FindHeader(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key.size() == name.size() && strncasecmp(key.data(), name.data(), name.size()) == 0) {
      return value;
    }
  }
  return {};
}

class HttpClient::Loop {
 public:
  explicit Loop(Options options) : options_(options) {
    InitCurl();
    multi_ = curl_multi_init();
  }
  ~Loop() {
    FailAll();
    curl_multi_cleanup(multi_);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  RequestId Submit(ClientRequest request, std::optional<BodyStream> stream, ResponseCallback done);
  void Cancel(RequestId id);
  bool Post(std::move_only_function<void()>& run);
  void Run();
  void Stop();

  TimerQueue timers;

 private:
  void Accept(std::unique_ptr<Transfer> transfer);
  void StartWaiting();
  void Begin(std::unique_ptr<Transfer> transfer);
  void DrainInbox();
  void ReadCompletions();
  void EndIdle(base::SteadyTime now);
  void Finish(Transfer* transfer, CURLcode code);
  void Complete(std::unique_ptr<Transfer> transfer, base::Result<ClientResponse> result);
  std::unique_ptr<Transfer> Take(Transfer* transfer);
  void FailAll();
  [[nodiscard]] int PollTimeoutMs(base::SteadyTime now) const;

  const Options options_;
  CURLM* multi_ = nullptr;

  base::Mutex mutex_;
  std::vector<std::move_only_function<void()>> inbox_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::atomic<RequestId> last_id_{0};

  // Of the loop's thread only.
  std::unordered_map<RequestId, std::unique_ptr<Transfer>> active_;
  std::deque<std::unique_ptr<Transfer>> waiting_;
  size_t collected_in_flight_ = 0;
};

bool HttpClient::Loop::Post(std::move_only_function<void()>& run) {
  {
    base::MutexLock lock(mutex_);
    if (stopped_) return false;
    inbox_.push_back(std::move(run));
  }
  curl_multi_wakeup(multi_);
  return true;
}

HttpClient::RequestId HttpClient::Loop::Submit(ClientRequest request,
                                               std::optional<BodyStream> stream,
                                               ResponseCallback done) {
  auto transfer = std::make_unique<Transfer>();
  transfer->id = ++last_id_;
  transfer->request = std::move(request);
  transfer->stream = std::move(stream);
  transfer->done = std::move(done);
  const RequestId id = transfer->id;
  Transfer* raw = transfer.get();
  std::move_only_function<void()> accept = [this, owned = std::move(transfer)]() mutable {
    Accept(std::move(owned));
  };
  // A refused Post leaves `accept`, and with it the transfer, here.
  if (!Post(accept)) {
    raw->done(base::Fail(base::Code::kUnavailable, "the HTTP client is stopped"));
  }
  return id;
}

void HttpClient::Loop::Cancel(RequestId id) {
  std::move_only_function<void()> cancel = [this, id] {
    const base::Error error{base::Code::kUnavailable, "the request was cancelled"};
    if (const auto it = active_.find(id); it != active_.end()) {
      Complete(Take(it->second.get()), std::unexpected(error));
      return;
    }
    const auto it = std::ranges::find_if(waiting_, [id](const auto& t) { return t->id == id; });
    if (it == waiting_.end()) return;
    auto transfer = std::move(*it);
    waiting_.erase(it);
    Complete(std::move(transfer), std::unexpected(error));
  };
  Post(cancel);
}

void HttpClient::Loop::Accept(std::unique_ptr<Transfer> transfer) {
  if (transfer->stream) {
    Begin(std::move(transfer));
    return;
  }
  if (waiting_.size() >= options_.max_waiting) {
    Complete(std::move(transfer),
             base::Fail(base::Code::kResourceExhausted,
                        fmt::format("{} requests are waiting already", options_.max_waiting)));
    return;
  }
  waiting_.push_back(std::move(transfer));
  StartWaiting();
}

void HttpClient::Loop::StartWaiting() {
  while (!waiting_.empty() && collected_in_flight_ < options_.max_in_flight) {
    auto transfer = std::move(waiting_.front());
    waiting_.pop_front();
    ++collected_in_flight_;
    Begin(std::move(transfer));
  }
}

void HttpClient::Loop::Begin(std::unique_ptr<Transfer> transfer) {
  Transfer* raw = transfer.get();
  raw->Prepare();
  active_.emplace(raw->id, std::move(transfer));
  const CURLMcode code = curl_multi_add_handle(multi_, raw->easy);
  if (code == CURLM_OK) return;
  Complete(Take(raw), base::Fail(base::Code::kInternal, curl_multi_strerror(code)));
}

/// Takes an active transfer out of curl's and our hands.
std::unique_ptr<Transfer> HttpClient::Loop::Take(Transfer* transfer) {
  curl_multi_remove_handle(multi_, transfer->easy);
  const auto it = active_.find(transfer->id);
  auto owned = std::move(it->second);
  active_.erase(it);
  if (!owned->stream) --collected_in_flight_;
  return owned;
}

void HttpClient::Loop::Complete(std::unique_ptr<Transfer> transfer,
                                base::Result<ClientResponse> result) {
  transfer->done(std::move(result));
}

void HttpClient::Loop::Finish(Transfer* transfer, CURLcode code) {
  auto owned = Take(transfer);
  StartWaiting();
  if (code != CURLE_OK || owned->verdict != Transfer::Verdict::kNone) {
    base::Error error = owned->Failure(code);
    Complete(std::move(owned), std::unexpected(std::move(error)));
    return;
  }
  ClientResponse response = std::move(owned->response);
  Complete(std::move(owned), std::move(response));
}

void HttpClient::Loop::ReadCompletions() {
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    char* self = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &self);
    Finish(reinterpret_cast<Transfer*>(self), code);
  }
}

void HttpClient::Loop::EndIdle(base::SteadyTime now) {
  std::vector<Transfer*> idle;
  for (const auto& [id, transfer] : active_) {
    const milliseconds limit = transfer->request.idle_timeout;
    if (limit.count() > 0 && now - transfer->last_activity >= limit) idle.push_back(transfer.get());
  }
  for (Transfer* transfer : idle) {
    transfer->verdict = Transfer::Verdict::kIdle;
    Finish(transfer, CURLE_OPERATION_TIMEDOUT);
  }
}

int HttpClient::Loop::PollTimeoutMs(base::SteadyTime now) const {
  base::SteadyTime until = now + std::chrono::seconds(60);
  if (const auto next = timers.Next()) until = std::min(until, *next);
  for (const auto& [id, transfer] : active_) {
    const milliseconds limit = transfer->request.idle_timeout;
    if (limit.count() > 0) until = std::min(until, transfer->last_activity + limit);
  }
  if (until <= now) return 0;
  return static_cast<int>(std::chrono::ceil<milliseconds>(until - now).count());
}

void HttpClient::Loop::DrainInbox() {
  std::vector<std::move_only_function<void()>> work;
  {
    base::MutexLock lock(mutex_);
    work.swap(inbox_);
  }
  for (auto& run : work) run();
}

void HttpClient::Loop::Run() {
  for (;;) {
    {
      base::MutexLock lock(mutex_);
      if (stopped_) break;
    }
    DrainInbox();
    timers.RunDue(std::chrono::steady_clock::now());
    int running = 0;
    curl_multi_perform(multi_, &running);
    ReadCompletions();
    const auto now = std::chrono::steady_clock::now();
    EndIdle(now);
    curl_multi_poll(multi_, nullptr, 0, PollTimeoutMs(now), nullptr);
  }
  FailAll();
}

void HttpClient::Loop::FailAll() {
  DrainInbox();  // accepted before Stop: those complete too
  const base::Error error{base::Code::kUnavailable, "the HTTP client is stopped"};
  while (!active_.empty()) {
    Complete(Take(active_.begin()->second.get()), std::unexpected(error));
  }
  while (!waiting_.empty()) {
    auto transfer = std::move(waiting_.front());
    waiting_.pop_front();
    Complete(std::move(transfer), std::unexpected(error));
  }
}

void HttpClient::Loop::Stop() {
  {
    base::MutexLock lock(mutex_);
    stopped_ = true;
  }
  curl_multi_wakeup(multi_);
}

HttpClient::HttpClient() : HttpClient(Options{}) {}
HttpClient::HttpClient(Options options) : loop_(std::make_unique<Loop>(options)) {}
HttpClient::~HttpClient() { loop_->Stop(); }

void HttpClient::Run() { loop_->Run(); }
void HttpClient::Stop() { loop_->Stop(); }

HttpClient::RequestId HttpClient::Submit(ClientRequest request, ResponseCallback done) {
  return loop_->Submit(std::move(request), std::nullopt, std::move(done));
}

HttpClient::RequestId HttpClient::SubmitStream(ClientRequest request, BodyStream stream,
                                               ResponseCallback done) {
  return loop_->Submit(std::move(request), std::move(stream), std::move(done));
}

void HttpClient::Cancel(RequestId id) { loop_->Cancel(id); }
void HttpClient::Post(std::move_only_function<void()> run) { loop_->Post(run); }

TimerId HttpClient::RunAfter(std::chrono::nanoseconds delay, std::move_only_function<void()> run) {
  return loop_->timers.Add(std::chrono::steady_clock::now() + delay, std::move(run));
}

void HttpClient::CancelTimer(TimerId id) { loop_->timers.Cancel(id); }

}  // namespace activescale::net
