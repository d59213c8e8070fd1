#include "kube/watch_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace activescale::kube {

using std::chrono::duration_cast;
using std::chrono::seconds;

WatchGroup::WatchGroup(const Context& context, const Resource& resource,
                       const std::vector<std::string>& namespaces, ObjectSink& sink)
    : loop_(context.api.http()),
      clock_(context.clock),
      resource_(resource.name),
      max_silence_(context.max_silence),
      namespaces_(namespaces) {
  if (namespaces_.empty()) namespaces_.emplace_back();
  for (const std::string& ns : namespaces_) {
    WatchTarget target{
        .resource = resource.name,
        .path = ns.empty() ? fmt::format("{}/{}", resource.prefix, resource.name)
                           : fmt::format("{}/namespaces/{}/{}", resource.prefix, ns, resource.name),
        .label_selector = {},
        .field_selector = resource.field_selector,
        .metadata_only = resource.metadata_only,
        .mask = resource.mask};
    watchers_.push_back(std::make_unique<Watcher>(context.api, std::move(target), sink,
                                                  context.registry, context.clock, context.random,
                                                  context.watcher));
  }
  auto& synced = context.registry.AddGauge("activescale_kube_watch_synced",
                                           "1 if every list of the resource was complete once",
                                           {{"resource", resource_}});
  auto& age = context.registry.AddGauge(
      "activescale_kube_watch_age_seconds",
      "Time since the API server last sent anything for the resource, of its quietest watch",
      {{"resource", resource_}});
  context.registry.AddRefresh([this, &synced, &age] {
    if (!started_) return;
    const Summary summary = Summarize();
    synced.Set(summary.synced ? 1 : 0);
    age.Set(std::chrono::duration<double>(summary.age).count());
  });
}

void WatchGroup::Start() {
  if (started_.exchange(true)) return;
  for (const auto& watcher : watchers_) watcher->Start();
}

const Watcher* WatchGroup::Find(std::string_view ns) const {
  if (namespaces_.front().empty()) return watchers_.front().get();
  const auto it = std::ranges::find(namespaces_, ns);
  if (it == namespaces_.end()) return nullptr;
  return watchers_[static_cast<size_t>(it - namespaces_.begin())].get();
}

base::Result<void> WatchGroup::CheckNamespace(std::string_view ns) const {
  const Watcher* watcher = Find(ns);
  if (watcher == nullptr) {
    return base::Fail(base::Code::kNotFound,
                      fmt::format("namespace {} is not watched: add it to --namespaces", ns));
  }
  const WatchStatus status = watcher->status();
  const std::string why = status.last_error.empty() ? "" : ": " + status.last_error;
  if (!status.synced) {
    return base::Fail(base::Code::kUnavailable,
                      fmt::format("the first list of {} is not complete yet{}", resource_, why));
  }
  const auto age = clock_.Now() - status.last_contact.value_or(base::SteadyTime());
  if (age > max_silence_) {
    return base::Fail(
        base::Code::kUnavailable,
        fmt::format("the watch of {} has had no contact with the API server for {} s, "
                    "what it knows is too old{}",
                    resource_, duration_cast<seconds>(age).count(), why));
  }
  return {};
}

void WatchGroup::WhenListed(std::string_view ns, std::chrono::milliseconds time,
                            std::move_only_function<void()> then) const {
  const Watcher* watcher = Find(ns);
  if (watcher == nullptr || watcher->status().synced) return then();
  loop_.Post([&loop = loop_, watcher, time, then = std::move(then)]() mutable {
    Await(loop, *watcher, time, std::move(then));
  });
}

void WatchGroup::Await(net::HttpClient& loop, const Watcher& watcher,
                       std::chrono::milliseconds time, std::move_only_function<void()> then) {
  const WatchStatus status = watcher.status();
  if (status.synced || !status.last_error.empty() || time.count() <= 0) return then();
  constexpr std::chrono::milliseconds kLook(10);
  loop.RunAfter(kLook, [&loop, &watcher, left = time - kLook, then = std::move(then)]() mutable {
    Await(loop, watcher, left, std::move(then));
  });
}

WatchGroup::Summary WatchGroup::Summarize() const {
  Summary summary;
  for (const auto& watcher : watchers_) {
    const WatchStatus status = watcher->status();
    summary.synced = summary.synced && status.synced;
    if (status.last_contact) {
      summary.age =
          std::max<std::chrono::nanoseconds>(summary.age, clock_.Now() - *status.last_contact);
    }
    if (!status.last_error.empty()) summary.last_error = status.last_error;
  }
  return summary;
}

}  // namespace activescale::kube
