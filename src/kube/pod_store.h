#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/pod.h"
#include "metric/pod_key.h"
#include "metric/selector.h"

namespace activescale::kube {

/// Pods in memory, found by label selector and by owner without a look at the others.
/// Threads: the owner guards it.
class PodStore {
 public:
  /// What a pod is now. Its name is valid while the pod is kept.
  struct Record {
    std::string_view name;
    PodPhase phase = PodPhase::kUnknown;
    bool ready = false;
    bool terminating = false;
    base::SteadyTime ready_since;  // if ready
    base::WallTime created;
    std::vector<IpAddress> ips;

   private:
    friend class PodStore;
    struct Posting;
    std::vector<Posting*> labels_;  // in the order of the keys
    Posting* owner_ = nullptr;
  };
  using Records = std::vector<const Record*>;

  PodStore();
  ~PodStore();
  PodStore(const PodStore&) = delete;
  PodStore& operator=(const PodStore&) = delete;

  /// Takes a pod as it is now; a finished one is as good as gone.
  void Upsert(const Pod& pod, const base::Clock& clock);
  void Remove(metric::PodKeyView pod);

  /// All that follow are valid until the next change, and in order of name.
  [[nodiscard]] Records Select(std::string_view ns, const metric::Selector& selector) const;
  /// Pods whose controller has that name and is one of `resource`, e.g. "statefulsets.apps".
  /// `*known` tells whether there is such a controller of any pod.
  [[nodiscard]] Records OwnedBy(std::string_view ns, std::string_view resource,
                                std::string_view name, bool* known) const;
  [[nodiscard]] const Record* Find(metric::PodKeyView pod) const;
  /// In order of namespace and name.
  void ForEach(const std::function<void(std::string_view ns, const Record&)>& visit) const;
  /// The name of what the pod belongs to: of its controller, of a ReplicaSet's Deployment (the
  /// ReplicaSet is named after it and the pod template's hash, which is a label of the pod), or its
  /// own. Valid as Select. Source: kubernetes/kubernetes:pkg/controller/deployment/sync.go.
  [[nodiscard]] static std::string_view WorkloadOf(const Record& record);
  [[nodiscard]] size_t size() const { return size_; }

 private:
  struct Namespace;
  using Namespaces = std::map<std::string, Namespace, std::less<>>;

  [[nodiscard]] const Namespace* FindNamespace(std::string_view ns) const;
  static void Index(Namespace& ns, Record& record, const Pod& pod);
  static void Unindex(Namespace& ns, Record& record);
  [[nodiscard]] static bool SameIndex(const Record& record, const Pod& pod);
  [[nodiscard]] static bool Holds(const Record& record, const metric::Requirement& requirement);
  [[nodiscard]] static Records Candidates(const Namespace& ns, const metric::Selector& selector);

  Namespaces namespaces_;
  size_t size_ = 0;
};

/// The resource of a kind as an API path has it: "deployments.apps" for Deployment in apps.
/// A guess by the rules of English, as apimachinery's meta.UnsafeGuessKindToResource.
[[nodiscard]] std::string ResourceOf(std::string_view group, std::string_view kind);

}  // namespace activescale::kube
