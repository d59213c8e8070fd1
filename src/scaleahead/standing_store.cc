#include "scaleahead/standing_store.h"

#include <algorithm>
#include <utility>

namespace activescale::scaleahead {

using base::MutexLock;
using store::PodReading;

StandingStore::StandingStore(store::SampleStore& store, WorkloadOf workload_of,
                             const base::Clock& clock, telemetry::Registry& registry)
    : store_(store),
      workload_of_(std::move(workload_of)),
      clock_(clock),
      replaced_(registry.AddCounter("activescale_scale_ahead_standing_values_total",
                                    "Values that were served as of the moment of a step, as new "
                                    "pods were taking over load.")) {}

void StandingStore::Stand(const std::string& ns, const std::string& workload,
                          const std::vector<metric::PodKey>& pods) {
  const Key key(ns, workload);
  const auto coming = std::make_shared<Taken>();
  coming->until = clock_.Now() + kTime;
  {
    const MutexLock lock(mutex_);
    standing_[key].coming = coming;
    any_.store(true, std::memory_order_relaxed);
  }
  store_.ReadAll(pods, [this, key, pods, coming](const base::Result<store::ReadAllResult>& result) {
    Take(key, pods, coming, result);
  });
}

void StandingStore::Take(const Key& key, const std::vector<metric::PodKey>& pods,
                         const std::shared_ptr<Taken>& coming,
                         const base::Result<store::ReadAllResult>& result) {
  const MutexLock lock(mutex_);
  const auto found = standing_.find(key);
  if (found == standing_.end() || found->second.coming != coming) return;
  found->second.coming.reset();
  // What is not known whole shall not stand.
  if (!result || result->partial) return;
  for (size_t i = 0; i < pods.size(); ++i) coming->pods[pods[i].name] = result->readings[i];
  found->second.taken = coming;
}

void StandingStore::Release(const std::string& ns, const std::string& workload) {
  const MutexLock lock(mutex_);
  standing_.erase({ns, workload});
  any_.store(!standing_.empty(), std::memory_order_relaxed);
}

void StandingStore::Read(std::vector<metric::PodKey> pods, metric::MetricKind kind,
                         store::ReadCallback done) {
  if (!any_.load(std::memory_order_relaxed)) {
    return store_.Read(std::move(pods), kind, std::move(done));
  }
  std::vector<metric::PodKey> asked = pods;
  store_.Read(std::move(asked), kind,
              [this, pods = std::move(pods), kind,
               done = std::move(done)](base::Result<store::ReadResult> result) mutable {
                if (result) Replace(pods, kind, *result);
                done(std::move(result));
              });
}

/// The reading that stands for a pod; one that came later is missing.
std::optional<PodReading> StandingStore::Find(const Key& key, const std::string& pod,
                                              metric::MetricKind kind) const {
  const auto found = standing_.find(key);
  if (found == standing_.end() || !found->second.taken) return std::nullopt;
  const Taken& taken = *found->second.taken;
  const auto known = taken.pods.find(pod);
  return known == taken.pods.end() ? PodReading() : known->second[static_cast<size_t>(kind)];
}

void StandingStore::DropExpired(base::SteadyTime now) {
  for (auto& [key, standing] : standing_) {
    if (standing.taken && standing.taken->until <= now) standing.taken.reset();
  }
  std::erase_if(standing_,
                [](const auto& entry) { return !entry.second.taken && !entry.second.coming; });
  any_.store(!standing_.empty(), std::memory_order_relaxed);
}

void StandingStore::Replace(const std::vector<metric::PodKey>& pods, metric::MetricKind kind,
                            store::ReadResult& result) {
  const base::SteadyTime now = clock_.Now();
  std::vector<std::optional<std::string>> workloads;
  workloads.reserve(pods.size());
  for (const metric::PodKey& pod : pods) workloads.push_back(workload_of_(pod.View()));
  const MutexLock lock(mutex_);
  DropExpired(now);
  std::vector<std::pair<size_t, PodReading>> changed;
  bool any_value = false;
  for (size_t i = 0; i < pods.size(); ++i) {
    if (!workloads[i]) continue;
    const auto reading = Find({pods[i].ns, *workloads[i]}, pods[i].name, kind);
    if (!reading) continue;
    any_value = any_value || reading->state != PodReading::State::kMissing;
    changed.emplace_back(i, *reading);
  }
  // Nothing of what stands is left, as after a rollout: what there is now is better than nothing.
  if (!any_value) return;
  for (const auto& [i, reading] : changed) result.readings[i] = reading;
  replaced_.Increment(static_cast<double>(changed.size()));
}

}  // namespace activescale::scaleahead
