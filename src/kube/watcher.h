#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <boost/json/object.hpp>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/api_client.h"
#include "kube/list_watch.h"
#include "kube/object_stream.h"
#include "kube/watch_metrics.h"

namespace activescale::kube {

/// Which objects to follow and what of them to keep.
struct WatchTarget {
  std::string resource;        // for messages and metrics: "pods"
  std::string path;            // "/api/v1/pods", "/api/v1/namespaces/web/pods"
  std::string label_selector;  // both as the API takes them, not encoded
  std::string field_selector;
  bool metadata_only = false;  // asks for PartialObjectMetadata
  FieldMask mask;              // besides metadata's name, namespace and resourceVersion
};

/// Takes the objects of a watch, on the loop's thread.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  /// An object that is new, or anew, or perhaps unchanged.
  virtual void Upsert(const boost::json::object& object) = 0;
  virtual void Remove(std::string_view ns, std::string_view name) = 0;
};

/// A sink of two functions.
class FunctionSink final : public ObjectSink {
 public:
  using OnUpsert = std::function<void(const boost::json::object&)>;
  using OnRemove = std::function<void(std::string_view ns, std::string_view name)>;

  FunctionSink(OnUpsert upsert, OnRemove remove)
      : upsert_(std::move(upsert)), remove_(std::move(remove)) {}
  void Upsert(const boost::json::object& object) override { upsert_(object); }
  void Remove(std::string_view ns, std::string_view name) override { remove_(ns, name); }

 private:
  const OnUpsert upsert_;
  const OnRemove remove_;
};

struct WatchStatus {
  bool synced = false;                           // a list was complete once
  std::optional<base::SteadyTime> last_contact;  // when the server last sent anything of use
  std::string last_error;                        // empty: the last attempt works
};

/// Follows one collection of the API server and keeps a sink equal to it: lists, watches, lists
/// again when it must; never gives up. Threads: Start and status, any; all else on the loop.
/// Destroy it only when the HTTP client's Run has returned.
class Watcher {
 public:
  struct Options {
    ListWatch::Options list_watch;
    /// Bookmarks come about once a minute: longer silence means a half-open connection.
    std::chrono::milliseconds watch_silence{100'000};
    std::chrono::milliseconds list_silence{30'000};
    std::chrono::milliseconds page_timeout{120'000};
    size_t max_object_bytes = size_t{4} << 20;  // etcd keeps at most 1.5 MiB
  };

  /// What it refers to must outlive it.
  Watcher(ApiClient& api, WatchTarget target, ObjectSink& sink, telemetry::Registry& registry,
          const base::Clock& clock, std::function<double()> random, const Options& options);
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// Begins; calls after the first do nothing.
  void Start();
  [[nodiscard]] WatchStatus status() const;
  [[nodiscard]] const WatchTarget& target() const { return target_; }

 private:
  void Do(const ListWatch::Step& step);
  void Ask(const ListWatch::Step& step);
  void AskPage(const ListWatch::ListPage& page, bool fresh_connection);
  void AskWatch(const ListWatch::Watch& watch, bool fresh_connection);
  ApiClient::StreamCallbacks ReadBy(std::move_only_function<void(std::optional<ApiError>)> on_end);
  void OnPageEnd(const std::optional<ApiError>& error);
  void OnWatchEnd(const std::optional<ApiError>& error);
  void OnEvent(const boost::json::object& event);
  void OnErrorEvent(const boost::json::object& status);
  void OnListed();
  void Take(const boost::json::object& object);
  void Drop(const boost::json::object& object);
  [[nodiscard]] std::string Path(std::string_view query) const;
  /// What went wrong: our own finding counts before the transport's.
  [[nodiscard]] std::optional<RequestFailure> Failure(const std::optional<ApiError>& error);
  void Report(const RequestFailure& failure, std::chrono::milliseconds delay);
  void NoteContact();
  void NoteWorks();

  ApiClient& api_;
  const WatchTarget target_;
  ObjectSink& sink_;
  WatchMetrics metrics_;
  const base::Clock& clock_;
  const Options options_;
  std::atomic<bool> started_{false};

  // Of the loop's thread only.
  ListWatch machine_;
  std::unique_ptr<ObjectStream> stream_;
  uint64_t list_number_ = 0;
  std::unordered_map<std::string, uint64_t> known_;  // "ns/name" -> the list that last showed it
  base::SteadyTime asked_at_;
  base::SteadyTime started_at_;
  std::optional<RequestFailure> finding_;
  std::string finding_text_;
  std::optional<base::SteadyTime> reported_at_;
  bool recovery_is_news_ = false;

  mutable base::Mutex mutex_;
  WatchStatus status_ GUARDED_BY(mutex_);
};

}  // namespace activescale::kube
