#include "kube/watcher.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "base/log.h"
#include "kube/json.h"

namespace activescale::kube {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kReportInterval(60);
// What a watch may take over the timeout that it asked for.
constexpr std::chrono::seconds kWatchGrace(30);

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kMetadataList =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
constexpr std::string_view kMetadata =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

WatchTarget WithNames(WatchTarget target) {
  target.mask.Add("metadata.name");
  target.mask.Add("metadata.namespace");
  target.mask.Add("metadata.resourceVersion");
  return target;
}

std::string Key(std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}", ns, name);
}

}  // namespace

Watcher::Watcher(ApiClient& api, WatchTarget target, ObjectSink& sink,
                 telemetry::Registry& registry, const base::Clock& clock,
                 std::function<double()> random, const Options& options)
    : api_(api),
      target_(WithNames(std::move(target))),
      sink_(sink),
      metrics_(registry, target_.resource),
      clock_(clock),
      options_(options),
      machine_(options.list_watch, std::move(random)) {}

void Watcher::Start() {
  if (started_.exchange(true)) return;
  api_.http().Post([this] {
    started_at_ = clock_.Now();
    Do(machine_.Start());
  });
}

WatchStatus Watcher::status() const {
  base::MutexLock lock(mutex_);
  return status_;
}

void Watcher::Do(const ListWatch::Step& step) {
  if (step.delay.count() == 0) {
    Ask(step);
  } else {
    api_.http().RunAfter(step.delay, [this, step] { Ask(step); });
  }
}

void Watcher::Ask(const ListWatch::Step& step) {
  asked_at_ = clock_.Now();
  finding_.reset();
  finding_text_.clear();
  if (const auto* page = std::get_if<ListWatch::ListPage>(&step.request)) {
    AskPage(*page, step.fresh_connection);
  } else {
    AskWatch(std::get<ListWatch::Watch>(step.request), step.fresh_connection);
  }
}

std::string Watcher::Path(std::string_view query) const {
  std::string path = fmt::format("{}?{}", target_.path, query);
  if (!target_.label_selector.empty()) {
    path += "&labelSelector=" + QueryEscape(target_.label_selector);
  }
  if (!target_.field_selector.empty()) {
    path += "&fieldSelector=" + QueryEscape(target_.field_selector);
  }
  return path;
}

ApiClient::StreamCallbacks Watcher::ReadBy(
    std::move_only_function<void(std::optional<ApiError>)> on_end) {
  ApiClient::StreamCallbacks callbacks;
  callbacks.on_open = [this] { NoteContact(); };
  callbacks.on_body = [this](std::string_view piece) {
    NoteContact();
    if (auto fed = stream_->Feed(piece); !fed) {
      finding_ = {.kind = RequestFailure::Kind::kGarbage};
      finding_text_ = fmt::format("{}: {}", target_.path, fed.error().message);
    }
    return !finding_.has_value();
  };
  callbacks.on_end = std::move(on_end);
  return callbacks;
}

void Watcher::AskPage(const ListWatch::ListPage& page, bool fresh_connection) {
  if (page.continue_token.empty()) {
    ++list_number_;
    metrics_.CountList(page.reason);
  }
  stream_ = std::make_unique<ObjectStream>(ObjectStream::Form::kList, target_.mask,
                                           options_.max_object_bytes,
                                           [this](const json::object& object) { Take(object); });
  std::string query;
  if (page.limit > 0) query = fmt::format("limit={}", page.limit);
  if (!page.continue_token.empty()) query += "&continue=" + QueryEscape(page.continue_token);
  api_.Stream({.path = Path(query),
               .accept = std::string(target_.metadata_only ? kMetadataList : kJson),
               .timeout = options_.page_timeout,
               .idle_timeout = options_.list_silence,
               .fresh_connection = fresh_connection},
              ReadBy([this](const std::optional<ApiError>& error) { OnPageEnd(error); }));
}

void Watcher::AskWatch(const ListWatch::Watch& watch, bool fresh_connection) {
  stream_ = std::make_unique<ObjectStream>(ObjectStream::Form::kWatch, target_.mask,
                                           options_.max_object_bytes,
                                           [this](const json::object& event) { OnEvent(event); });
  auto callbacks = ReadBy([this](const std::optional<ApiError>& error) { OnWatchEnd(error); });
  callbacks.on_open = [this] {
    NoteContact();
    NoteWorks();
  };
  api_.Stream({.path = Path(fmt::format(
                   "watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
                   QueryEscape(watch.resource_version), watch.timeout.count())),
               .accept = std::string(target_.metadata_only ? kMetadata : kJson),
               .timeout = watch.timeout + kWatchGrace,
               .idle_timeout = options_.watch_silence,
               .fresh_connection = fresh_connection},
              std::move(callbacks));
}

void Watcher::OnPageEnd(const std::optional<ApiError>& error) {
  if (api_.http().stopped()) return;
  std::optional<RequestFailure> failure = Failure(error);
  base::Result<json::object> list = json::object();
  if (!failure) {
    list = stream_->Finish();
    if (!list) {
      failure = {.kind = RequestFailure::Kind::kGarbage};
      finding_text_ = fmt::format("{}: {}", target_.path, list.error().message);
    }
  }
  if (failure) {
    const ListWatch::Step step = machine_.OnPageFailed(*failure);
    Report(*failure, step.delay);
    Do(step);
    return;
  }
  const std::string_view version = FindString(*list, {"metadata", "resourceVersion"});
  const ListWatch::Step step =
      machine_.OnPage(version, FindString(*list, {"metadata", "continue"}));
  if (step.delay.count() > 0) {
    finding_text_ = fmt::format(
        "{}: the list has no resourceVersion, or a page that leads to itself", target_.path);
    Report({.kind = RequestFailure::Kind::kGarbage}, step.delay);
  } else if (std::holds_alternative<ListWatch::Watch>(step.request)) {
    OnListed();
  }
  Do(step);
}

/// The list is complete: what it did not show is gone.
void Watcher::OnListed() {
  for (auto it = known_.begin(); it != known_.end();) {
    if (it->second == list_number_) {
      ++it;
      continue;
    }
    const size_t slash = it->first.find('/');
    sink_.Remove(it->first.substr(0, slash), it->first.substr(slash + 1));
    it = known_.erase(it);
  }
  NoteWorks();
  bool first = false;
  {
    base::MutexLock lock(mutex_);
    first = !std::exchange(status_.synced, true);
  }
  if (first) {
    const auto took = std::chrono::duration_cast<milliseconds>(clock_.Now() - started_at_);
    LOG_INFO("listed {} objects of {} in {} ms, now watching", known_.size(), target_.path,
             took.count());
  }
}

void Watcher::OnWatchEnd(const std::optional<ApiError>& error) {
  if (api_.http().stopped()) return;
  std::optional<RequestFailure> failure = Failure(error);
  if (!failure) {
    if (auto finished = stream_->Finish(); !finished) {
      failure = {.kind = RequestFailure::Kind::kGarbage};
      finding_text_ = fmt::format("{}: {}", target_.path, finished.error().message);
    }
  }
  const ListWatch::Step step = machine_.OnWatchEnded(clock_.Now() - asked_at_, failure);
  if (failure) Report(*failure, step.delay);
  Do(step);
}

void Watcher::OnEvent(const json::object& event) {
  if (finding_) return;  // after an ERROR event nothing counts
  const std::string_view type = FindString(event, {"type"});
  const json::object* object = FindObject(event, {"object"});
  if (object == nullptr) {
    metrics_.unusable.Increment();
    return;
  }
  if (type == "ERROR") {
    OnErrorEvent(*object);
    return;
  }
  if (type == "ADDED" || type == "MODIFIED") {
    Take(*object);
  } else if (type == "DELETED") {
    Drop(*object);
  } else if (type == "BOOKMARK") {
    metrics_.bookmarks.Increment();
  } else {
    metrics_.unusable.Increment();
    return;
  }
  machine_.OnEvent(FindString(*object, {"metadata", "resourceVersion"}));
  NoteWorks();
}

void Watcher::OnErrorEvent(const json::object& status) {
  const json::value* code = status.if_contains("code");
  finding_ = {.kind = RequestFailure::Kind::kStatus,
              .http_status =
                  code != nullptr && code->is_int64() ? static_cast<int>(code->get_int64()) : 500};
  finding_text_ = fmt::format("watch of {}: the API server says {}: {}", target_.path,
                              finding_->http_status, FindString(status, {"message"}));
}

void Watcher::Take(const json::object& object) {
  const std::string_view name = FindString(object, {"metadata", "name"});
  if (name.empty()) {
    metrics_.unusable.Increment();
    return;
  }
  metrics_.upserts.Increment();
  known_[Key(FindString(object, {"metadata", "namespace"}), name)] = list_number_;
  sink_.Upsert(object);
}

void Watcher::Drop(const json::object& object) {
  const std::string_view ns = FindString(object, {"metadata", "namespace"});
  const std::string_view name = FindString(object, {"metadata", "name"});
  metrics_.deletions.Increment();
  known_.erase(Key(ns, name));
  sink_.Remove(ns, name);
}

std::optional<RequestFailure> Watcher::Failure(const std::optional<ApiError>& error) {
  if (finding_) return finding_;
  if (!error) return std::nullopt;
  finding_text_ = error->error.message;
  if (error->http_status != 0) {
    return RequestFailure{.kind = RequestFailure::Kind::kStatus,
                          .http_status = error->http_status,
                          .retry_after = error->retry_after};
  }
  return RequestFailure{.kind = error->error.code == base::Code::kDeadlineExceeded
                                    ? RequestFailure::Kind::kDeadline
                                    : RequestFailure::Kind::kConnection};
}

/// Counts every failure; logs at most one a minute, so that a flapping server fills no log.
void Watcher::Report(const RequestFailure& failure, milliseconds delay) {
  metrics_.CountFailure(failure.kind);
  {
    base::MutexLock lock(mutex_);
    status_.last_error = finding_text_;
  }
  const auto now = clock_.Now();
  if (reported_at_ && now - *reported_at_ < kReportInterval) return;
  reported_at_ = now;
  recovery_is_news_ = true;
  LOG_WARNING("{}; next attempt in {} ms", finding_text_, delay.count());
}

void Watcher::NoteContact() {
  base::MutexLock lock(mutex_);
  status_.last_contact = clock_.Now();
}

void Watcher::NoteWorks() {
  if (std::exchange(recovery_is_news_, false)) LOG_INFO("{} is followed again", target_.path);
  base::MutexLock lock(mutex_);
  status_.last_error.clear();
}

}  // namespace activescale::kube
