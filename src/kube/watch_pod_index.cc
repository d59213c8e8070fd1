#include "kube/watch_pod_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "kube/json.h"
#include "kube/pod.h"

namespace activescale::kube {
namespace {

using base::Code;
using base::MutexLock;
using std::chrono::duration_cast;
using std::chrono::seconds;

/// How long the first question about a workload waits for what leads to it to be listed.
constexpr std::chrono::milliseconds kFirstList(2'000);

/// Pods and what owns them itself: for these nothing else needs to be known.
constexpr std::array<std::string_view, 7> kDirectOwners = {"pods",
                                                           "replicasets.apps",
                                                           "statefulsets.apps",
                                                           "daemonsets.apps",
                                                           "jobs.batch",
                                                           "replicationcontrollers",
                                                           "nodes"};

WatchGroup::Resource Pods() {
  return {.name = "pods",
          .prefix = "/api/v1",
          .field_selector = "status.phase!=Succeeded,status.phase!=Failed",
          .metadata_only = false,
          .mask = PodMask()};
}

/// Objects of which only the owner matters.
WatchGroup::Resource Owned(std::string name, std::string prefix) {
  return {.name = std::move(name),
          .prefix = std::move(prefix),
          .field_selector = {},
          .metadata_only = true,
          .mask = {"metadata.ownerReferences"}};
}

WatchGroup::Resource Services() {
  return {.name = "services",
          .prefix = "/api/v1",
          .field_selector = {},
          .metadata_only = false,
          .mask = {"spec.selector"}};
}

PodInfo InfoOf(const PodStore::Record& record) {
  return {.name = std::string(record.name),
          .phase = record.phase,
          .ready = record.ready,
          .terminating = record.terminating,
          .ready_since = record.ready_since,
          .created = record.created,
          .ip = record.ips.empty() ? "" : record.ips.front().ToString()};
}

std::string_view NamespaceOf(const boost::json::object& object) {
  return FindString(object, {"metadata", "namespace"});
}
std::string_view NameOf(const boost::json::object& object) {
  return FindString(object, {"metadata", "name"});
}

}  // namespace

WatchPodIndex::WatchPodIndex(const WatchGroup::Context& context, Options options)
    : options_(std::move(options)),
      clock_(context.clock),
      pod_sink_(
          [this](const boost::json::object& object) {
            const Pod pod = ParsePod(object);
            MutexLock lock(mutex_);
            pods_.Upsert(pod, clock_);
          },
          [this](std::string_view ns, std::string_view name) {
            MutexLock lock(mutex_);
            pods_.Remove({ns, name});
          }),
      service_sink_(
          [this](const boost::json::object& object) {
            MutexLock lock(mutex_);
            services_.Upsert(object);
          },
          [this](std::string_view ns, std::string_view name) {
            MutexLock lock(mutex_);
            services_.Remove(ns, name);
          }),
      pods_group_(context, Pods(), options_.namespaces, pod_sink_),
      services_group_(context, Services(), options_.namespaces, service_sink_),
      replica_sets_(*this, context, Owned("replicasets", "/apis/apps/v1"), "replicasets.apps"),
      jobs_(*this, context, Owned("jobs", "/apis/batch/v1"), "jobs.batch") {
  auto& pods = context.registry.AddGauge("activescale_kube_pods",
                                         "Pods known from the watch that are not finished");
  context.registry.AddRefresh([this, &pods] {
    MutexLock lock(mutex_);
    pods.Set(static_cast<double>(pods_.size()));
  });
}

WatchPodIndex::Between::Between(WatchPodIndex& index, const WatchGroup::Context& context,
                                const WatchGroup::Resource& watched, std::string_view full_name)
    : resource(full_name),
      sink(
          [this, &index](const boost::json::object& object) {
            MutexLock lock(index.mutex_);
            owners.Upsert(NamespaceOf(object), NameOf(object), ParseOwner(object));
          },
          [this, &index](std::string_view ns, std::string_view name) {
            MutexLock lock(index.mutex_);
            owners.Remove(ns, name);
          }),
      group(context, watched, index.options_.namespaces, sink) {}

const WatchPodIndex::Between* WatchPodIndex::BetweenOf(std::string_view resource) const {
  if (std::ranges::find(kDirectOwners, resource) != kDirectOwners.end()) return nullptr;
  return resource == "cronjobs.batch" ? &jobs_ : &replica_sets_;
}

void WatchPodIndex::Prepare(std::string_view ns, const WorkloadRef& workload,
                            std::move_only_function<void()> then) const {
  const bool is_service = workload.resource == "services";
  const Between* between = is_service ? nullptr : BetweenOf(workload.resource);
  if (!is_service && between == nullptr) return then();
  WatchGroup& group = is_service ? services_group_ : between->group;
  group.Start();
  group.WhenListed(ns, kFirstList, std::move(then));
}

bool WatchPodIndex::Counts(const PodStore::Record& record) const {
  return options_.include_terminating || !record.terminating;
}

bool WatchPodIndex::Starting(const PodStore::Record& record) const {
  return !record.ready || clock_.Now() - record.ready_since < options_.starting_grace;
}

std::vector<WorkloadPod> WatchPodIndex::Answer(std::string_view ns,
                                               const PodStore::Records& records) const {
  std::vector<WorkloadPod> pods;
  pods.reserve(records.size());
  for (const PodStore::Record* record : records) {
    if (!Counts(*record)) continue;
    pods.push_back({{std::string(ns), std::string(record->name)}, Starting(*record)});
  }
  return pods;
}

base::Result<std::vector<metric::PodKey>> WatchPodIndex::Select(
    std::string_view ns, const metric::Selector& selector) const {
  if (auto known = pods_group_.CheckNamespace(ns); !known) {
    return std::unexpected(std::move(known.error()));
  }
  MutexLock lock(mutex_);
  std::vector<metric::PodKey> keys;
  const PodStore::Records records = pods_.Select(ns, selector);
  keys.reserve(records.size());
  for (const PodStore::Record* record : records) {
    if (Counts(*record)) keys.push_back({std::string(ns), std::string(record->name)});
  }
  return keys;
}

base::Result<bool> WatchPodIndex::Contains(metric::PodKeyView pod) const {
  if (auto known = pods_group_.CheckNamespace(pod.ns); !known) {
    return std::unexpected(std::move(known.error()));
  }
  MutexLock lock(mutex_);
  return pods_.Find(pod) != nullptr;
}

base::Result<std::vector<WorkloadPod>> WatchPodIndex::PodsOf(std::string_view ns,
                                                             const WorkloadRef& workload) const {
  if (auto known = pods_group_.CheckNamespace(ns); !known) {
    return std::unexpected(std::move(known.error()));
  }
  if (workload.resource == "services") return PodsOfService(ns, workload.name);
  if (workload.resource != "pods") return PodsOfOwner(ns, workload);
  MutexLock lock(mutex_);
  const PodStore::Record* record = pods_.Find({ns, workload.name});
  if (record != nullptr && Counts(*record)) return Answer(ns, {record});
  return base::Fail(Code::kNotFound, fmt::format("there is no pod {}/{}", ns, workload.name));
}

base::Result<std::vector<WorkloadPod>> WatchPodIndex::PodsOfService(std::string_view ns,
                                                                    std::string_view name) const {
  services_group_.Start();
  if (auto known = services_group_.CheckNamespace(ns); !known) {
    return std::unexpected(std::move(known.error()));
  }
  MutexLock lock(mutex_);
  const metric::Selector* selector = services_.Find(ns, name);
  if (selector == nullptr) {
    return base::Fail(Code::kNotFound, fmt::format("there is no Service {}/{}", ns, name));
  }
  if (selector->empty()) {
    return base::Fail(
        Code::kNotFound,
        fmt::format("Service {}/{} has no selector, so its pods are not known", ns, name));
  }
  return Answer(ns, pods_.Select(ns, *selector));
}

base::Result<std::vector<WorkloadPod>> WatchPodIndex::PodsOfOwner(
    std::string_view ns, const WorkloadRef& workload) const {
  const Between* between = BetweenOf(workload.resource);
  if (between != nullptr) {
    between->group.Start();
    if (auto known = between->group.CheckNamespace(ns); !known) {
      return std::unexpected(std::move(known.error()));
    }
  }
  MutexLock lock(mutex_);
  bool known = false;
  PodStore::Records records = pods_.OwnedBy(ns, workload.resource, workload.name, &known);
  if (between != nullptr) {
    const auto owned = between->owners.OwnedBy(ns, workload.resource, workload.name);
    known = known || !owned.empty();
    for (const std::string_view name : owned) {
      bool has_pods = false;
      const auto more = pods_.OwnedBy(ns, between->resource, name, &has_pods);
      records.insert(records.end(), more.begin(), more.end());
    }
    std::ranges::sort(records, {}, &PodStore::Record::name);
  }
  if (!known) {
    return base::Fail(Code::kNotFound,
                      fmt::format("no pod in {} is controlled by {}/{}, itself or through a "
                                  "ReplicaSet or Job",
                                  ns, workload.resource, workload.name));
  }
  return Answer(ns, records);
}

base::Result<std::vector<IndexedPod>> WatchPodIndex::List() const {
  const std::vector<std::string> all = {""};
  for (const std::string& ns : options_.namespaces.empty() ? all : options_.namespaces) {
    if (auto known = pods_group_.CheckNamespace(ns); !known) {
      return std::unexpected(std::move(known.error()));
    }
  }
  std::vector<IndexedPod> pods;
  MutexLock lock(mutex_);
  pods.reserve(pods_.size());
  pods_.ForEach([&](std::string_view ns, const PodStore::Record& record) {
    if (!Counts(record)) return;
    pods.push_back({.key = {std::string(ns), std::string(record.name)},
                    .workload = std::string(PodStore::WorkloadOf(record))});
  });
  return pods;
}

std::optional<std::string> WatchPodIndex::WorkloadOf(metric::PodKeyView pod) const {
  MutexLock lock(mutex_);
  const PodStore::Record* record = pods_.Find(pod);
  if (record == nullptr || !Counts(*record)) return std::nullopt;
  return std::string(PodStore::WorkloadOf(*record));
}

base::Result<std::vector<PodInfo>> WatchPodIndex::Describe(std::string_view ns,
                                                           const metric::Selector& selector) const {
  if (auto known = pods_group_.CheckNamespace(ns); !known) {
    return std::unexpected(std::move(known.error()));
  }
  MutexLock lock(mutex_);
  std::vector<PodInfo> pods;
  for (const PodStore::Record* record : pods_.Select(ns, selector)) {
    pods.push_back(InfoOf(*record));
  }
  return pods;
}

std::optional<PodInfo> WatchPodIndex::Find(metric::PodKeyView pod) const {
  MutexLock lock(mutex_);
  const PodStore::Record* record = pods_.Find(pod);
  return record == nullptr ? std::nullopt : std::optional(InfoOf(*record));
}

PeerVerdict WatchPodIndex::CheckPeer(metric::PodKeyView pod, std::string_view peer) const {
  if (!pods_group_.CheckNamespace(pod.ns)) return PeerVerdict::kNotSynced;
  const auto ip = IpAddress::ParsePeer(peer);
  MutexLock lock(mutex_);
  const PodStore::Record* record = pods_.Find(pod);
  if (record == nullptr) return PeerVerdict::kUnknownPod;
  if (!ip || record->ips.empty()) return PeerVerdict::kNoAddress;
  return std::ranges::find(record->ips, *ip) != record->ips.end() ? PeerVerdict::kMatch
                                                                  : PeerVerdict::kMismatch;
}

telemetry::CheckResult WatchPodIndex::Health() const {
  const WatchGroup::Summary summary = pods_group_.Summarize();
  const std::string why = summary.last_error.empty() ? "" : "; " + summary.last_error;
  if (!summary.synced) {
    return {false, "the first list of pods is not complete yet" + why};
  }
  size_t pods = 0;
  {
    MutexLock lock(mutex_);
    pods = pods_.size();
  }
  return {true, fmt::format("{} pods, last contact with the API server {} s ago{}", pods,
                            duration_cast<seconds>(summary.age).count(), why)};
}

}  // namespace activescale::kube
