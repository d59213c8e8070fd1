#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/pod.h"
#include "metric/selector.h"

namespace activescale::kube {

/// Which objects between a workload and its pods (ReplicaSets, Jobs) belong to what controls them.
/// Threads: the owner guards it.
class OwnerStore {
 public:
  void Upsert(std::string_view ns, std::string_view name, OwnerRef owner);
  void Remove(std::string_view ns, std::string_view name);
  /// Names of the objects whose controller has that name and is one of `resource`, e.g.
  /// "deployments.apps"; valid until the next change.
  [[nodiscard]] std::vector<std::string_view> OwnedBy(std::string_view ns,
                                                      std::string_view resource,
                                                      std::string_view name) const;

 private:
  struct Namespace {
    std::map<std::string, OwnerRef, std::less<>> owners;  // by the name of what is owned
    std::multimap<OwnerRef, std::string> owned;
  };
  static void Unlink(Namespace& ns, const std::string& name, const OwnerRef& owner);

  std::map<std::string, Namespace, std::less<>> namespaces_;
};

/// What Services select. Threads: the owner guards it.
class ServiceStore {
 public:
  /// `object` needs metadata and spec.selector.
  void Upsert(const boost::json::object& object);
  void Remove(std::string_view ns, std::string_view name);
  /// Null if there is no such Service; an empty selector if it selects nothing itself. Valid until
  /// the next change.
  [[nodiscard]] const metric::Selector* Find(std::string_view ns, std::string_view name) const;

 private:
  std::map<std::string, std::map<std::string, metric::Selector, std::less<>>, std::less<>>
      namespaces_;
};

}  // namespace activescale::kube
