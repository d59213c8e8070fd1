#include "kube/replica_watch.h"

#include <fmt/format.h>

#include <utility>

#include "kube/endpoint_watch.h"
#include "kube/json.h"

namespace activescale::kube {
namespace {

namespace json = boost::json;

WatchTarget Target(const std::string& ns, const std::string& service) {
  return {.resource = "endpointslices",
          .path = fmt::format("/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices", ns),
          .label_selector = fmt::format("{}={}", kServiceNameLabel, service),
          .field_selector = {},
          .metadata_only = false,
          .mask = {"endpoints.conditions", "endpoints.targetRef"}};
}

/// An absent condition means ready. Source: kubernetes/api:discovery/v1/types.go.
bool IsReady(const json::object& endpoint) {
  const json::value* ready = FindValue(endpoint, {"conditions", "ready"});
  return ready == nullptr || !ready->is_bool() || ready->get_bool();
}

}  // namespace

ReplicaWatch::ReplicaWatch(const Context& context, const std::string& ns,
                           const std::string& service)
    : sink_([this](const json::object& object) { OnSlice(object); },
            [this](std::string_view, std::string_view name) {
              base::MutexLock lock(mutex_);
              if (const auto it = ready_.find(name); it != ready_.end()) ready_.erase(it);
            }),
      watcher_(context.api, Target(ns, service), sink_, context.registry, context.clock,
               context.random, context.watcher) {}

void ReplicaWatch::OnSlice(const json::object& slice) {
  std::set<std::string> pods;
  if (const json::array* endpoints = FindArray(slice, {"endpoints"})) {
    for (const json::value& value : *endpoints) {
      const json::object* endpoint = value.if_object();
      if (endpoint == nullptr || !IsReady(*endpoint)) continue;
      const std::string_view pod = FindString(*endpoint, {"targetRef", "name"});
      if (!pod.empty()) pods.emplace(pod);
    }
  }
  base::MutexLock lock(mutex_);
  ready_[std::string(FindString(slice, {"metadata", "name"}))] = std::move(pods);
}

base::Result<std::vector<std::string>> ReplicaWatch::ReadyPods() const {
  const WatchStatus status = watcher_.status();
  if (!status.synced) {
    return base::Fail(base::Code::kUnavailable,
                      fmt::format("the EndpointSlices of our Service are not read yet{}{}",
                                  status.last_error.empty() ? "" : ": ", status.last_error));
  }
  std::set<std::string> pods;  // a pod may be in several slices (IPv4 and IPv6)
  base::MutexLock lock(mutex_);
  for (const auto& [slice, ready] : ready_) pods.insert(ready.begin(), ready.end());
  return std::vector<std::string>(pods.begin(), pods.end());
}

}  // namespace activescale::kube
