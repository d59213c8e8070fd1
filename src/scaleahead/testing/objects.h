#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "kube/hpa_object.h"
#include "scaleahead/decision.h"

namespace activescale::scaleahead {

/// Policies that allow any growth at once: for what is not about them.
[[nodiscard]] inline hpa::Behavior AnyGrowth() {
  hpa::Behavior behavior;
  behavior.up.policies = {{hpa::PolicyType::kPercent, 10'000, 15}};
  return behavior;
}

/// An HPA "shop/web" on the Deployment "web" that wants 10 inbound requests a pod, from 2 to 20
/// pods, is active and asks for steps ahead.
[[nodiscard]] inline kube::HpaObject WebHpa() {
  kube::HpaObject hpa;
  hpa.ns = "shop";
  hpa.name = "web";
  hpa.uid = "uid-1";
  hpa.annotations.emplace(kAnnotation, "true");
  hpa.target = {"apps/v1", "Deployment", "web"};
  hpa.spec.min_replicas = 2;
  hpa.spec.max_replicas = 20;
  hpa.spec.metrics = {
      {hpa::MetricType::kPods, hpa::TargetType::kAverageValue, 10'000, "inbound_active_requests"}};
  hpa.spec.behavior = AnyGrowth();
  hpa.sources.resize(1);
  hpa.conditions = {{"ScalingActive", "True", "ValidMetricFound", "", ""}};
  return hpa;
}

/// One pod of the target and its newest value.
struct SeenPod {
  std::string name;
  int64_t value_milli = 0;
  base::SteadyTime received;
  bool fresh = false;  // it became ready lately
};

/// What is seen of WebHpa's target with such pods, all of them running.
struct Scene {
  hpa::Observation seen;
  std::vector<MetricFacts> facts{1};

  Scene(int32_t replicas, const std::vector<SeenPod>& pods) {
    seen.spec_replicas = replicas;
    seen.status_replicas = replicas;
    seen.answers.resize(1);
    for (const SeenPod& pod : pods) {
      seen.pods.push_back({.name = pod.name});
      seen.answers[0].by_pod[pod.name] = {.value_milli = pod.value_milli};
      facts[0].times.push_back({.pod = pod.name,
                                .received = pod.received,
                                .busy = pod.value_milli > 0,
                                .fresh = pod.fresh});
    }
  }
};

}  // namespace activescale::scaleahead
