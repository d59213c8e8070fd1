#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kube/hpa_object.h"
#include "kube/watch_group.h"
#include "scaleahead/decision.h"

namespace activescale::scaleahead {

/// Watches the HPAs that ask for steps ahead, and what can be their target: Deployments and
/// StatefulSets. Threads: Start and Check, any; the listener is called on the HTTP client's loop.
/// Destroy it only when the HTTP client's Run has returned.
class ObjectWatch {
 public:
  struct Listener {
    std::function<void(kube::HpaObject)> on_hpa;  // new, changed or perhaps as before
    std::function<void(std::string ns, std::string name)> on_hpa_gone;  // or asks no more
    std::function<void(Target)> on_target;
    std::function<void(std::string ns, std::string resource, std::string name)> on_target_gone;
  };

  /// `namespaces` empty: all.
  ObjectWatch(const kube::WatchGroup::Context& context, const std::vector<std::string>& namespaces,
              Listener listener);

  void Start();
  /// Errors: kUnavailable, not listed yet or out of contact for too long to act on it.
  [[nodiscard]] base::Result<void> Check(std::string_view ns) const;

 private:
  /// One resource that can be a target.
  struct Kind {
    Kind(ObjectWatch& watch, const kube::WatchGroup::Context& context,
         const std::vector<std::string>& namespaces, std::string_view kind,
         std::string_view resource);

    kube::FunctionSink sink;
    kube::WatchGroup group;
  };

  void OnHpa(const boost::json::object& object);
  void OnHpaGone(std::string_view ns, std::string_view name);

  const Listener listener_;
  std::set<std::string> asking_;  // "ns/name"; of the loop's thread
  kube::FunctionSink hpa_sink_;
  kube::WatchGroup hpas_;
  Kind deployments_;
  Kind stateful_sets_;
};

/// "ns/name"
[[nodiscard]] std::string ObjectKey(std::string_view ns, std::string_view name);

/// The resource of a kind that can be a target; "" for others. `api_version` as an HPA has it.
[[nodiscard]] std::string_view ResourceOfTarget(std::string_view api_version,
                                                std::string_view kind);

/// Reads a Deployment or StatefulSet as its watch shows it.
[[nodiscard]] Target ReadTarget(const boost::json::object& object, std::string_view kind,
                                std::string_view resource);

}  // namespace activescale::scaleahead
