#include "kube/scale_watch.h"

#include <chrono>

namespace activescale::kube {
namespace {

// As a WatchGroup judges it: longer without contact, and what we know is too old to act on.
constexpr std::chrono::seconds kMaxSilence{180};

WatchGroup::Resource Hpas(bool whole) {
  const FieldMask numbers = {"spec.minReplicas", "spec.maxReplicas", "status.currentReplicas",
                             "status.desiredReplicas"};
  return {.name = "horizontalpodautoscalers",
          .prefix = "/apis/autoscaling/v2",
          .field_selector = {},
          .metadata_only = false,
          .mask = whole ? FieldMask{"spec", "status"} : numbers};
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
                       const std::vector<std::string>& namespaces, ObjectSink* whole_hpas)
    : hpas_(HpaFields()),
      deployments_(DeploymentFields()),
      hpa_sink_(
          [this, whole_hpas](const boost::json::object& hpa) {
            hpas_.Upsert(hpa);
            if (whole_hpas != nullptr) whole_hpas->Upsert(hpa);
          },
          [this, whole_hpas](std::string_view ns, std::string_view name) {
            hpas_.Remove(ns, name);
            if (whole_hpas != nullptr) whole_hpas->Remove(ns, name);
          }),
      hpa_group_(context, Hpas(whole_hpas != nullptr), namespaces, hpa_sink_),
      deployment_group_(context, Deployments(), namespaces, deployments_) {}

void ScaleWatch::Start() {
  hpa_group_.Start();
  deployment_group_.Start();
}

bool ScaleWatch::Fresh() const { return IsFresh(hpa_group_) && IsFresh(deployment_group_); }

}  // namespace activescale::kube
