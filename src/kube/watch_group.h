#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "kube/watcher.h"
#include "net/http_client.h"
#include "telemetry/registry.h"

namespace activescale::kube {

/// One resource in all namespaces, by one watch, or in some, by one each.
/// Threads: Start and the questions, any.
class WatchGroup {
 public:
  struct Context {
    ApiClient& api;
    telemetry::Registry& registry;
    const base::Clock& clock;
    std::function<double()> random;  // in [0, 1), on the loop's thread; copies share one source
    Watcher::Options watcher;
    /// Without contact for longer, what we know is too old to act on.
    std::chrono::seconds max_silence{180};
  };
  struct Resource {
    std::string name;    // "pods"
    std::string prefix;  // "/api/v1"
    std::string field_selector;
    bool metadata_only = false;
    FieldMask mask;
  };

  /// `namespaces` empty: all.
  WatchGroup(const Context& context, const Resource& resource,
             const std::vector<std::string>& namespaces, ObjectSink& sink);

  void Start();

  /// Whether what the sink knows of a namespace is complete and fresh. Errors: kUnavailable, not
  /// listed yet or out of contact, with the last failure; kNotFound, not one of our namespaces.
  [[nodiscard]] base::Result<void> CheckNamespace(std::string_view ns) const;

  /// Calls `then` once the namespace was listed, or listing it failed, or the time is over: on this
  /// thread where that is so already, else on the loop's. Dropped when the loop stops.
  void WhenListed(std::string_view ns, std::chrono::milliseconds time,
                  std::move_only_function<void()> then) const;

  struct Summary {
    bool synced = true;               // all of them
    std::chrono::nanoseconds age{0};  // since the last contact, of the worst
    std::string last_error;           // of one that has one
  };
  [[nodiscard]] Summary Summarize() const;

 private:
  [[nodiscard]] const Watcher* Find(std::string_view ns) const;
  static void Await(net::HttpClient& loop, const Watcher& watcher, std::chrono::milliseconds time,
                    std::move_only_function<void()> then);

  net::HttpClient& loop_;
  const base::Clock& clock_;
  const std::string resource_;
  const std::chrono::seconds max_silence_;
  std::vector<std::string> namespaces_;  // in the order of watchers_; "" for all
  std::vector<std::unique_ptr<Watcher>> watchers_;
  std::atomic<bool> started_{false};
};

}  // namespace activescale::kube
