#include "sim/manifest.h"

#include <gtest/gtest.h>

#include <string>

namespace activescale::sim {
namespace {

TEST(ManifestTest, AnHpaIsReadWithTheDefaultsOfTheApiserver) {
  const auto read = ReadManifest(R"(apiVersion: v1
kind: Namespace
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 20
  metrics:
    - type: Pods
      pods:
        metric: {name: inbound_active_requests}
        target: {type: AverageValue, averageValue: 2500m}
    - type: Resource
      resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}
  behavior:
    scaleUp:
      policies: [{type: Percent, value: 900, periodSeconds: 15}]
)");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->target, "Deployment/web");
  EXPECT_EQ(read->spec.min_replicas, 1);
  ASSERT_EQ(read->spec.metrics.size(), 2);
  EXPECT_EQ(read->spec.metrics[0].target, 2500);
  EXPECT_EQ(read->spec.metrics[1].target_type, hpa::TargetType::kUtilization);
  ASSERT_TRUE(read->spec.behavior.has_value());
  EXPECT_EQ(read->spec.behavior->up.policies.size(), 1);
  EXPECT_EQ(read->spec.behavior->down.policies.size(), 1);
  EXPECT_FALSE(read->spec.behavior->down.stabilization_window_seconds.has_value());
}

TEST(ManifestTest, TheScaledObjectOfLokisQueriersIsAnExternalMetric) {
  const auto read = ReadManifest(R"(apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: querier}
spec:
  maxReplicaCount: 50
  minReplicaCount: 10
  pollingInterval: 30
  scaleTargetRef: {kind: Deployment, name: querier}
  advanced:
    horizontalPodAutoscalerConfig:
      behavior: {scaleDown: {stabilizationWindowSeconds: 1800}}
  triggers:
    - type: prometheus
      metadata: {query: sum(x), threshold: "4"}
)");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->spec.min_replicas, 10);
  EXPECT_EQ(read->spec.max_replicas, 50);
  EXPECT_EQ(read->spec.metrics[0].type, hpa::MetricType::kExternal);
  EXPECT_EQ(read->spec.metrics[0].target, 4000);
  EXPECT_EQ(read->spec.behavior->down.stabilization_window_seconds, 1800);
  EXPECT_EQ(read->polling_seconds, 0);
}

TEST(ManifestTest, WhatTheApiserverRefusesIsRefusedWithLineAndField) {
  const std::string head =
      "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nspec:\n"
      "  scaleTargetRef: {name: web}\n";
  const std::string metric =
      "  metrics:\n  - type: Pods\n    pods: {metric: {name: m}, target: {type: AverageValue, "
      "averageValue: 1}}\n";
  struct Case {
    std::string yaml;
    std::string want;
  };
  const Case cases[] = {
      {"a: [", "line 1"},
      {"kind: Deployment\n", "no HorizontalPodAutoscaler"},
      {head + metric, "spec.maxReplicas: must be a whole number"},
      {head + metric + "  maxReplicas: 2\n  minReplicas: 3\n", "line 8, spec.maxReplicas: is 2"},
      {head + metric + "  maxReplicas: two\n", "line 8, spec.maxReplicas: must be a whole"},
      {head + "  maxReplicas: 3\n", "no metric"},
      {head + "  maxReplicas: 3\n  metrics: [{type: Pods}]\n", "spec.metrics[0].pods"},
      {head + "  maxReplicas: 3\n  metrics:\n  - type: Pods\n    pods: {metric: {name: m}, target: "
              "{type: AverageValue, averageValue: 0}}\n",
       "must be above 0"},
      {head + "  maxReplicas: 3\n  metrics: [{type: Sum}]\n", "spec.metrics[0].type"},
      {head + metric + "  maxReplicas: 3\n  behavior: {scaleUp: {policies: []}}\n",
       "at least one policy"},
      {head + metric + "  maxReplicas: 3\n  behavior: {scaleUp: {selectPolicy: Most}}\n",
       "Max, Min or Disabled"},
      {head + metric +
           "  maxReplicas: 3\n  behavior: {scaleDown: {stabilizationWindowSeconds: 3601}}\n",
       "must be 0 to 3600"},
      {"apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\n", "convert it"},
  };
  for (const Case& c : cases) {
    const auto read = ReadManifest(c.yaml);
    ASSERT_FALSE(read.has_value()) << c.yaml;
    EXPECT_NE(read.error().message.find(c.want), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace activescale::sim
