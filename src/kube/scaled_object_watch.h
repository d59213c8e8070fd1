#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"
#include "kube/scaled_object.h"
#include "kube/watch_group.h"

namespace activescale::kube {

/// Follows the ScaledObjects of a cluster that may have no KEDA, or may not let us see them:
/// neither is a fault, so we ask once in a while and watch from when they can be listed.
/// Threads: Start and the questions, any; the listener is called on the HTTP client's loop.
/// Destroy it only when the HTTP client's Run has returned.
class ScaledObjectWatch {
 public:
  struct Options {
    std::chrono::milliseconds retry{60'000};
    std::chrono::milliseconds retry_no_answer{5'000};
  };
  /// Something of an object of that namespace is new that a ScaledObject keeps.
  using OnChange = std::function<void(std::string ns)>;

  /// `namespaces` empty: all.
  ScaledObjectWatch(const WatchGroup::Context& context, const std::vector<std::string>& namespaces,
                    OnChange on_change, Options options);

  void Start();

  /// Whether what is known of a namespace is complete and fresh. Errors: kNotFound: the cluster has
  /// no ScaledObjects; kPermissionDenied: we may not list them; kUnavailable: not listed yet, or
  /// out of contact.
  [[nodiscard]] base::Result<void> Check(std::string_view ns) const EXCLUDES(mutex_);
  /// Errors: as Check; kUnavailable also if there is none of that name.
  [[nodiscard]] base::Result<ScaledObject> Find(std::string_view ns, std::string_view name) const
      EXCLUDES(mutex_);

 private:
  void Ask(size_t at);
  void OnRefused(const base::Error& error) EXCLUDES(mutex_);
  void Watch() EXCLUDES(mutex_);
  void OnObject(const boost::json::object& object) EXCLUDES(mutex_);
  void OnGone(std::string_view ns, std::string_view name) EXCLUDES(mutex_);

  const WatchGroup::Context context_;
  const std::vector<std::string> namespaces_;
  const OnChange on_change_;
  const Options options_;
  FunctionSink sink_;

  mutable base::Mutex mutex_;
  std::unique_ptr<WatchGroup> group_ GUARDED_BY(mutex_);  // null: not yet, it stays once it is
  base::Error refused_ GUARDED_BY(mutex_);                // why not
  std::map<std::pair<std::string, std::string>, ScaledObject> objects_ GUARDED_BY(mutex_);
};

}  // namespace activescale::kube
