#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "kube/pod_index.h"

namespace activescale::kube {

/// An index of the pods and workloads that a test names. Threads: any.
class FakePodIndex final : public PodIndex {
 public:
  void AddPod(const metric::PodKey& pod, std::vector<metric::Labels::Entry> labels = {}) {
    base::MutexLock lock(mutex_);
    pods_[pod] = metric::Labels(std::move(labels));
  }
  void SetWorkloadOf(const metric::PodKey& pod, std::string workload) {
    base::MutexLock lock(mutex_);
    workload_of_[pod] = std::move(workload);
  }
  void RemovePod(const metric::PodKey& pod) {
    base::MutexLock lock(mutex_);
    pods_.erase(pod);
  }
  void SetWorkload(const std::string& ns, const WorkloadRef& workload,
                   std::vector<WorkloadPod> pods) {
    base::MutexLock lock(mutex_);
    workloads_[{ns, workload.resource + "/" + workload.name}] = std::move(pods);
  }
  /// Every question fails from now on, as before the first list; nothing heals it.
  void Fail(std::optional<base::Error> error) {
    base::MutexLock lock(mutex_);
    error_ = std::move(error);
  }

  /// Takes what waits for a workload from now on, instead of having it run at once.
  void HoldQuestions(std::function<void(std::move_only_function<void()>)> take) {
    base::MutexLock lock(mutex_);
    take_ = std::move(take);
  }

  void Prepare(std::string_view /*ns*/, const WorkloadRef& /*workload*/,
               std::move_only_function<void()> then) const override {
    std::function<void(std::move_only_function<void()>)> take;
    {
      base::MutexLock lock(mutex_);
      take = take_;
    }
    if (take) return take(std::move(then));
    then();
  }

  base::Result<std::vector<metric::PodKey>> Select(
      std::string_view ns, const metric::Selector& selector) const override {
    base::MutexLock lock(mutex_);
    if (error_) return std::unexpected(*error_);
    std::vector<metric::PodKey> found;
    for (const auto& [pod, labels] : pods_) {
      if (pod.ns == ns && selector.Matches(labels)) found.push_back(pod);
    }
    return found;
  }

  base::Result<bool> Contains(metric::PodKeyView pod) const override {
    base::MutexLock lock(mutex_);
    if (error_) return std::unexpected(*error_);
    return pods_.contains({std::string(pod.ns), std::string(pod.name)});
  }

  base::Result<std::vector<WorkloadPod>> PodsOf(std::string_view ns,
                                                const WorkloadRef& workload) const override {
    base::MutexLock lock(mutex_);
    if (error_) return std::unexpected(*error_);
    const auto found = workloads_.find({std::string(ns), workload.resource + "/" + workload.name});
    if (found == workloads_.end()) {
      return base::Fail(base::Code::kNotFound,
                        workload.resource + " \"" + workload.name + "\" not found");
    }
    return found->second;
  }

  base::Result<std::vector<IndexedPod>> List() const override {
    base::MutexLock lock(mutex_);
    if (error_) return std::unexpected(*error_);
    std::vector<IndexedPod> found;
    for (const auto& [pod, labels] : pods_) found.push_back({pod, Workload(pod)});
    return found;
  }

  std::optional<std::string> WorkloadOf(metric::PodKeyView pod) const override {
    base::MutexLock lock(mutex_);
    const metric::PodKey key{std::string(pod.ns), std::string(pod.name)};
    if (error_ || !pods_.contains(key)) return std::nullopt;
    return Workload(key);
  }

 private:
  std::string Workload(const metric::PodKey& pod) const REQUIRES(mutex_) {
    const auto found = workload_of_.find(pod);
    return found == workload_of_.end() ? "" : found->second;
  }

  mutable base::Mutex mutex_;
  std::map<metric::PodKey, metric::Labels> pods_ GUARDED_BY(mutex_);
  std::map<metric::PodKey, std::string> workload_of_ GUARDED_BY(mutex_);
  std::map<std::pair<std::string, std::string>, std::vector<WorkloadPod>> workloads_
      GUARDED_BY(mutex_);
  std::optional<base::Error> error_ GUARDED_BY(mutex_);
  std::function<void(std::move_only_function<void()>)> take_ GUARDED_BY(mutex_);
};

}  // namespace activescale::kube
