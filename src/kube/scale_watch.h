#pragma once

#include <string>
#include <vector>

#include "kube/object_numbers.h"
#include "kube/watch_group.h"

namespace activescale::kube {

/// The replicas that HorizontalPodAutoscalers and Deployments want and have, by watches.
/// Threads: any. Destroy it only when the HTTP client's Run has returned.
class ScaleWatch {
 public:
  /// `namespaces` empty: all. `whole_hpas`, if there is one, gets each HPA with its whole spec and
  /// status, too.
  ScaleWatch(const WatchGroup::Context& context, const std::vector<std::string>& namespaces,
             ObjectSink* whole_hpas = nullptr);

  void Start();

  /// Indexes of an HPA's numbers.
  enum Hpa : uint8_t { kMinReplicas, kMaxReplicas, kCurrentReplicas, kDesiredReplicas };
  [[nodiscard]] const ObjectNumbers& hpas() const { return hpas_; }
  /// Indexes of a Deployment's numbers.
  enum Deployment : uint8_t { kSpecReplicas, kReplicas, kReadyReplicas, kAvailableReplicas };
  [[nodiscard]] const ObjectNumbers& deployments() const { return deployments_; }

  /// Whether both lists were complete once and the API server was heard in the last minutes.
  [[nodiscard]] bool Fresh() const;

  /// Its numbers before any watch, by the order above; absent ones are what the API's defaults say.
  [[nodiscard]] static std::vector<ObjectNumbers::Field> HpaFields();
  [[nodiscard]] static std::vector<ObjectNumbers::Field> DeploymentFields();

 private:
  ObjectNumbers hpas_;
  ObjectNumbers deployments_;
  FunctionSink hpa_sink_;
  WatchGroup hpa_group_;
  WatchGroup deployment_group_;
};

}  // namespace activescale::kube
