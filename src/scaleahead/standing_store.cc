#include "scaleahead/standing_store.h"

#include <algorithm>
#include <utility>

namespace activescale::scaleahead {

using base::MutexLock;
using store::PodReading;

StandingStore::StandingStore(store::SampleStore& store, WorkloadOf workload_of,
                             std::chrono::nanoseconds ttl, const base::Clock& clock,
                             telemetry::Registry& registry)
    : store_(store),
      workload_of_(std::move(workload_of)),
      ttl_(ttl),
      clock_(clock),
      replaced_(registry.AddCounter("activescale_scale_ahead_standing_values_total",
                                    "Values that were served as of the moment of a scale-up, as "
                                    "new pods were taking over load.")) {}

void StandingStore::Stand(const std::string& ns, const std::string& workload,
                          const std::vector<metric::PodKey>& pods) {
  const Key key(ns, workload);
  {
    const MutexLock lock(mutex_);
    Standing& standing = standing_[key];
    const base::SteadyTime now = clock_.Now();
    if (standing.until <= now) standing = {};
    standing.until = now + kTime;
    any_.store(true, std::memory_order_relaxed);
    if (standing.known) return;
  }
  for (size_t i = 0; i < metric::kMetricKindCount; ++i) {
    const auto kind = static_cast<metric::MetricKind>(i);
    store_.Read(pods, kind, [this, key, pods, kind](const base::Result<store::ReadResult>& result) {
      Take(key, pods, kind, result);
    });
  }
}

void StandingStore::Take(const Key& key, const std::vector<metric::PodKey>& pods,
                         metric::MetricKind kind, const base::Result<store::ReadResult>& result) {
  const MutexLock lock(mutex_);
  const auto found = standing_.find(key);
  if (found == standing_.end() || found->second.known) return;
  // What is not known whole shall not stand.
  if (!result || result->partial) {
    standing_.erase(found);
    any_.store(!standing_.empty(), std::memory_order_relaxed);
    return;
  }
  Standing& standing = found->second;
  const auto index = static_cast<size_t>(kind);
  for (size_t i = 0; i < pods.size(); ++i) {
    standing.pods[pods[i].name][index] = result->readings[i];
  }
  standing.read[index] = true;
  standing.known = std::ranges::all_of(standing.read, [](bool read) { return read; });
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
                                              metric::MetricKind kind, base::SteadyTime now) const {
  const auto found = standing_.find(key);
  if (found == standing_.end() || !found->second.known) return std::nullopt;
  const auto known = found->second.pods.find(pod);
  if (known == found->second.pods.end()) return PodReading();
  const PodReading& reading = known->second[static_cast<size_t>(kind)];
  const bool missing = reading.state == PodReading::State::kMissing;
  if (!missing && now - reading.received >= ttl_) return std::nullopt;  // too old to be served
  return reading;
}

void StandingStore::Replace(const std::vector<metric::PodKey>& pods, metric::MetricKind kind,
                            store::ReadResult& result) {
  const base::SteadyTime now = clock_.Now();
  std::vector<std::optional<std::string>> workloads;
  workloads.reserve(pods.size());
  for (const metric::PodKey& pod : pods) workloads.push_back(workload_of_(pod.View()));
  const MutexLock lock(mutex_);
  std::erase_if(standing_, [now](const auto& entry) { return entry.second.until <= now; });
  any_.store(!standing_.empty(), std::memory_order_relaxed);
  std::vector<std::pair<size_t, PodReading>> changed;
  bool any_value = false;
  for (size_t i = 0; i < pods.size(); ++i) {
    if (!workloads[i]) continue;
    const auto reading = Find({pods[i].ns, *workloads[i]}, pods[i].name, kind, now);
    if (!reading) continue;
    any_value = any_value || reading->state != PodReading::State::kMissing;
    changed.emplace_back(i, *reading);
  }
  // Nothing of what stands is left, as after a rollout: what there is now is better than nothing.
  if (!any_value) return;
  for (const auto& [i, reading] : changed) result.readings[i] = reading;
  replaced_.Increment(static_cast<double>(changed.size()));
}

void StandingStore::ReleaseAll() {
  const MutexLock lock(mutex_);
  standing_.clear();
  any_.store(false, std::memory_order_relaxed);
}

}  // namespace activescale::scaleahead
