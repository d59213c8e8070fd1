#include "kube/scale_watch.h"

#include <chrono>

namespace activescale::kube {
namespace {

// As a WatchGroup judges it: longer without contact, and what we know is too old to act on.
constexpr std::chrono::seconds kMaxSilence{180};

WatchGroup::Resource Hpas() {
  return {.name = "horizontalpodautoscalers",
          .prefix = "/apis/autoscaling/v2",
          .field_selector = {},
          .metadata_only = false,
          .mask = {"spec.minReplicas", "spec.maxReplicas", "status.currentReplicas",
                   "status.desiredReplicas"}};
}

WatchGroup::Resource Deployments() {
  return {.name = "deployments",
          .prefix = "/apis/apps/v1",
          .field_selector = {},
          .metadata_only = false,
          .mask = {"spec.replicas", "status.replicas", "status.readyReplicas",
                   "status.availableReplicas"}};
}

bool IsFresh(const WatchGroup& group) {
  const WatchGroup::Summary summary = group.Summarize();
  return summary.synced && summary.age < kMaxSilence;
}

}  // namespace

std::vector<ObjectNumbers::Field> ScaleWatch::HpaFields() {
  return {{"spec.minReplicas", 1},
          {"spec.maxReplicas", std::nullopt},
          {"status.currentReplicas", 0},
          {"status.desiredReplicas", 0}};
}

std::vector<ObjectNumbers::Field> ScaleWatch::DeploymentFields() {
  return {{"spec.replicas", 1},
          {"status.replicas", 0},
          {"status.readyReplicas", 0},
          {"status.availableReplicas", 0}};
}

ScaleWatch::ScaleWatch(const WatchGroup::Context& context,
                       const std::vector<std::string>& namespaces)
    : hpas_(HpaFields()),
      deployments_(DeploymentFields()),
      hpa_group_(context, Hpas(), namespaces, hpas_),
      deployment_group_(context, Deployments(), namespaces, deployments_) {}

void ScaleWatch::Start() {
  hpa_group_.Start();
  deployment_group_.Start();
}

bool ScaleWatch::Fresh() const { return IsFresh(hpa_group_) && IsFresh(deployment_group_); }

}  // namespace activescale::kube
