#include "insight/fleet.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "metric/pod_key.h"

namespace activescale::insight {
namespace {

using std::chrono::milliseconds;
using store::PodReading;

auto FullName(const WorkloadSight& workload) {
  return std::tuple(std::string_view(workload.ns), std::string_view(workload.name));
}

void AddTo(std::optional<Load>& load, metric::Quantity value) {
  if (!load) {
    load = Load{value, value, value};
    return;
  }
  load->total = load->total.SaturatingAdd(value);
  load->least = std::min(load->least, value);
  load->most = std::max(load->most, value);
}

/// Finds the workload of each pod; pods of one workload mostly follow each other.
class Sorter {
 public:
  WorkloadSight& Of(std::string ns, std::string name) {
    if (last_ < workloads_.size() && workloads_[last_].ns == ns && workloads_[last_].name == name) {
      return workloads_[last_];
    }
    const auto [at, added] = by_name_.try_emplace({ns, name}, workloads_.size());
    last_ = at->second;
    if (added) workloads_.push_back({.ns = std::move(ns), .name = std::move(name)});
    return workloads_[last_];
  }

  [[nodiscard]] std::vector<WorkloadSight> Take() && {
    std::ranges::sort(workloads_, {}, FullName);
    return std::move(workloads_);
  }

 private:
  std::vector<WorkloadSight> workloads_;
  std::unordered_map<metric::PodKey, size_t, metric::PodKeyHash, metric::PodKeyEqual> by_name_;
  size_t last_ = 0;
};

}  // namespace

const WorkloadSight* Fleet::Find(std::string_view ns, std::string_view name) const {
  const auto found = std::ranges::lower_bound(workloads, std::tuple(ns, name), {}, FullName);
  return found != workloads.end() && found->ns == ns && found->name == name ? &*found : nullptr;
}

Fleet MakeFleet(std::vector<kube::IndexedPod> pods,
                const std::vector<store::ReadAllResult::Readings>& readings,
                std::chrono::nanoseconds ttl, const base::Clock& clock) {
  const base::SteadyTime now = clock.Now();
  Sorter sorter;
  for (size_t i = 0; i < pods.size(); ++i) {
    kube::IndexedPod& pod = pods[i];
    std::string name = pod.workload.empty() ? pod.key.name : std::move(pod.workload);
    WorkloadSight& workload = sorter.Of(std::move(pod.key.ns), std::move(name));
    PodSight& sight = workload.pods.emplace_back(PodSight{.name = std::move(pod.key.name)});
    for (size_t kind = 0; kind < readings[i].size(); ++kind) {
      const PodReading& reading = readings[i][kind];
      if (reading.state == PodReading::State::kMissing) continue;
      sight.values[kind] = reading.value;
      AddTo(workload.loads[kind], reading.value);
      const auto age = std::chrono::duration_cast<milliseconds>(now - reading.received);
      sight.age = std::clamp(age, milliseconds(0), sight.age.value_or(milliseconds::max()));
    }
    if (!sight.age) {
      ++workload.missing;
    } else if (*sight.age > ttl / 2) {
      ++workload.stale;
    }
  }
  return {.at = clock.WallNow(), .workloads = std::move(sorter).Take()};
}

}  // namespace activescale::insight
