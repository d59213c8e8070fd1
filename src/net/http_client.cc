#include "net/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "net/http_transfer.h"

// Invariants:
// 1. Only the loop's thread touches curl; other threads put closures into the inbox and wake it.
// 2. No callback of a user runs while the inbox is locked, and none calls into curl: what it asks
//    for goes through the inbox too, so that it may ask from within a body callback.
// 3. A transfer is in `active_` or in `waiting_` until its completion runs, and in neither after.

namespace activescale::net {
namespace {

using std::chrono::milliseconds;

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
  bool stopped() {
    base::MutexLock lock(mutex_);
    return stopped_;
  }

  TimerQueue timers;

 private:
  void Accept(std::unique_ptr<Transfer> transfer);
  void StartWaiting();
  void Begin(std::unique_ptr<Transfer> transfer);
  void DrainInbox();
  void ReadCompletions();
  void EndIdle(base::SteadyTime now);
  void EndOverdue(base::SteadyTime now);
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
  transfer->submitted = std::chrono::steady_clock::now();
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

/// Of those that wait; curl ends the others.
void HttpClient::Loop::EndOverdue(base::SteadyTime now) {
  std::vector<std::unique_ptr<Transfer>> overdue;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if ((*it)->Deadline() > now) {
      ++it;
      continue;
    }
    overdue.push_back(std::move(*it));
    it = waiting_.erase(it);
  }
  for (auto& transfer : overdue) {
    transfer->verdict = Transfer::Verdict::kWaitedTooLong;
    base::Error error = transfer->Failure(CURLE_OPERATION_TIMEDOUT);
    Complete(std::move(transfer), std::unexpected(std::move(error)));
  }
}

int HttpClient::Loop::PollTimeoutMs(base::SteadyTime now) const {
  base::SteadyTime until = now + std::chrono::seconds(60);
  if (const auto next = timers.Next()) until = std::min(until, *next);
  for (const auto& [id, transfer] : active_) {
    const milliseconds limit = transfer->request.idle_timeout;
    if (limit.count() > 0) until = std::min(until, transfer->last_activity + limit);
  }
  for (const auto& transfer : waiting_) until = std::min(until, transfer->Deadline());
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
  while (!stopped()) {
    DrainInbox();
    timers.RunDue(std::chrono::steady_clock::now());
    int running = 0;
    curl_multi_perform(multi_, &running);
    ReadCompletions();
    const auto now = std::chrono::steady_clock::now();
    EndIdle(now);
    EndOverdue(now);
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
bool HttpClient::stopped() const { return loop_->stopped(); }

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
