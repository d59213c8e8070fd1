#include "kube/envoy_pod_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace activescale::kube {
namespace {

constexpr std::array<std::string_view, 6> kWorkloadResources = {
    "deployments.apps", "statefulsets.apps", "daemonsets.apps",
    "replicasets.apps", "jobs.batch",        "cronjobs.batch"};

}  // namespace

/// Shared by the presences of all streams of a pod. `description` is guarded by the index's mutex.
struct EnvoyPodIndex::Entry {
  EnvoyPod description;
  std::atomic<base::SteadyTime> last_message;
};

EnvoyPodIndex::Presence::Presence(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}
EnvoyPodIndex::Presence::~Presence() = default;

void EnvoyPodIndex::Presence::Touch(base::SteadyTime now) {
  entry_->last_message.store(now, std::memory_order_relaxed);
}

EnvoyPodIndex::EnvoyPodIndex(std::chrono::nanoseconds grace, const base::Clock& clock)
    : grace_(grace), clock_(clock) {}

EnvoyPodIndex::~EnvoyPodIndex() = default;

std::unique_ptr<EnvoyPodIndex::Presence> EnvoyPodIndex::Add(const metric::PodKey& pod,
                                                            EnvoyPod description) {
  base::MutexLock lock(mutex_);
  std::shared_ptr<Entry>& entry = namespaces_[pod.ns][pod.name];
  if (entry == nullptr) entry = std::make_shared<Entry>();
  entry->description = std::move(description);
  entry->last_message.store(clock_.Now(), std::memory_order_relaxed);
  return std::make_unique<Presence>(entry);
}

// An entry that a stream still holds stays, known again with the stream's next message: use counts
// grow only in Add, under the same lock.
void EnvoyPodIndex::Expire(base::SteadyTime now) {
  base::MutexLock lock(mutex_);
  for (auto ns = namespaces_.begin(); ns != namespaces_.end();) {
    std::erase_if(ns->second, [&](const auto& pod) {
      return pod.second.use_count() == 1 && !Known(*pod.second, now);
    });
    ns = ns->second.empty() ? namespaces_.erase(ns) : std::next(ns);
  }
}

bool EnvoyPodIndex::Known(const Entry& entry, base::SteadyTime now) const {
  return now - entry.last_message.load(std::memory_order_relaxed) < grace_;
}

template <typename Visit>
void EnvoyPodIndex::ForEachKnown(std::string_view ns, Visit visit) const {
  const auto pods = namespaces_.find(ns);
  if (pods == namespaces_.end()) return;
  const base::SteadyTime now = clock_.Now();
  for (const auto& [name, entry] : pods->second) {
    if (Known(*entry, now)) visit(name, *entry);
  }
}

base::Result<std::vector<metric::PodKey>> EnvoyPodIndex::Select(
    std::string_view ns, const metric::Selector& selector) const {
  std::vector<metric::PodKey> selected;
  base::MutexLock lock(mutex_);
  ForEachKnown(ns, [&](const std::string& name, const Entry& entry) {
    if (selector.Matches(entry.description.labels)) selected.emplace_back(std::string(ns), name);
  });
  return selected;
}

base::Result<bool> EnvoyPodIndex::Contains(metric::PodKeyView pod) const {
  base::MutexLock lock(mutex_);
  const auto pods = namespaces_.find(pod.ns);
  if (pods == namespaces_.end()) return false;
  const auto entry = pods->second.find(pod.name);
  return entry != pods->second.end() && Known(*entry->second, clock_.Now());
}

base::Result<std::vector<WorkloadPod>> EnvoyPodIndex::PodsOf(std::string_view ns,
                                                             const WorkloadRef& workload) const {
  std::vector<WorkloadPod> found;
  if (!workload.name.empty() &&
      std::ranges::find(kWorkloadResources, workload.resource) != kWorkloadResources.end()) {
    base::MutexLock lock(mutex_);
    ForEachKnown(ns, [&](const std::string& name, const Entry& entry) {
      if (entry.description.workload_name != workload.name) return;
      found.push_back({.key = {std::string(ns), name}, .starting = false});
    });
  }
  if (found.empty()) {
    return base::Fail(base::Code::kNotFound,
                      fmt::format("no Envoy in namespace \"{}\" said that its pod is of {} \"{}\"; "
                                  "pods are known from WORKLOAD_NAME in Envoy's node metadata",
                                  ns, workload.resource, workload.name));
  }
  return found;
}

base::Result<std::vector<IndexedPod>> EnvoyPodIndex::List() const {
  std::vector<IndexedPod> pods;
  base::MutexLock lock(mutex_);
  size_t count = 0;
  for (const auto& [ns, entries] : namespaces_) count += entries.size();
  pods.reserve(count);
  for (const auto& [ns, entries] : namespaces_) {
    ForEachKnown(ns, [&](const std::string& name, const Entry& entry) {
      pods.push_back({.key = {ns, name}, .workload = entry.description.workload_name});
    });
  }
  return pods;
}

std::optional<std::string> EnvoyPodIndex::WorkloadOf(metric::PodKeyView pod) const {
  base::MutexLock lock(mutex_);
  const auto pods = namespaces_.find(pod.ns);
  if (pods == namespaces_.end()) return std::nullopt;
  const auto entry = pods->second.find(pod.name);
  if (entry == pods->second.end()) return std::nullopt;
  return entry->second->description.workload_name;
}

}  // namespace activescale::kube
