#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

namespace activescale::insight {

/// A pod as kube-apiserver has it, of the ReplicaSet web-1 of the Deployment web; `status` and
/// `metadata` are members to add.
inline std::string PodJson(std::string_view name, std::string_view phase = "Running",
                           std::string_view status = "", std::string_view metadata = "") {
  return fmt::format(
      R"({{"metadata":{{"namespace":"shop","name":"{}","labels":{{"app":"web","pod-template-hash":"1"}})"
      R"({}}},"status":{{"phase":"{}","startTime":"2026-11-30T05:00:00Z","conditions":[)"
      R"({{"type":"Ready","status":"{}","lastTransitionTime":"2026-11-30T05:00:01Z"}}]{}}}}})",
      name,
      metadata.empty() ? R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet",)"
                         R"("name":"web-1","controller":true}])"
                       : metadata,
      phase, phase == "Running" ? "True" : "False", status);
}

inline std::string PodsMetric(std::string_view average) {
  return fmt::format(R"({{"type":"Pods","pods":{{"metric":{{"name":"inbound_active_requests"}},)"
                     R"("target":{{"type":"AverageValue","averageValue":"{}"}}}}}})",
                     average);
}

inline std::string ExternalMetric(std::string_view type, std::string_view amount) {
  return fmt::format(R"({{"type":"External","external":{{"metric":{{"name":"inflight"}},)"
                     R"("target":{{"type":"{}","{}":"{}"}}}}}})",
                     type, type == "Value" ? "value" : "averageValue", amount);
}

/// The custom metrics API's answer: "web-1=5" for each pod with a value.
inline std::string PodAnswer(const std::vector<std::pair<std::string, std::string>>& values) {
  std::vector<std::string> items;
  for (const auto& [pod, value] : values) {
    items.push_back(fmt::format(
        R"({{"describedObject":{{"name":"{}"}},"timestamp":"2026-11-30T05:59:58Z","value":"{}"}})",
        pod, value));
  }
  return fmt::format(R"({{"items":[{}]}})", fmt::join(items, ","));
}

inline std::string Total(std::string_view value) {
  return fmt::format(R"({{"items":[{{"value":"{}"}}]}})", value);
}

inline std::string ErrorAnswer(int status, std::string_view message) {
  return fmt::format(R"({{"error":{{"status":{},"message":"{}"}}}})", status, message);
}

inline std::string ConditionJson(std::string_view type, std::string_view status,
                                 std::string_view reason) {
  return fmt::format(R"({{"type":"{}","status":"{}","reason":"{}","message":"as {} means",)"
                     R"("lastTransitionTime":"2026-11-30T05:58:00Z"}})",
                     type, status, reason, reason);
}

inline std::string RescaleEvent(std::string_view at, int size) {
  return fmt::format(
      R"({{"reason":"SuccessfulRescale","lastTimestamp":"{}",)"
      R"("message":"New size: {}; reason: pods metric inbound_active_requests above target"}})",
      at, size);
}

/// An HPA of the Deployment web at 06:00:00, 1 to 20 replicas, as a saved file has it.
struct Situation {
  int replicas = 1;
  int status_replicas = -1;  // -1: as `replicas`
  std::string selector = "app=web";
  std::vector<std::string> metrics;
  std::vector<std::string> pods;
  std::vector<std::string> answers;
  std::string behavior;  // as JSON; empty for none
  std::vector<std::string> conditions = {};
  std::vector<std::string> events = {};

  [[nodiscard]] std::string Text() const {
    return fmt::format(
        R"({{"kind":"ActivescaleHpaSnapshot","takenAt":"2026-11-30T06:00:00Z",)"
        R"("hpa":{{"metadata":{{"namespace":"shop","name":"web"}},"spec":{{"scaleTargetRef":)"
        R"({{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}},"minReplicas":1,)"
        R"("maxReplicas":20,"metrics":[{}]{}}},"status":{{"conditions":[{}]}}}},)"
        R"("scale":{{"spec":{{"replicas":{}}},"status":{{"replicas":{},"selector":"{}"}}}},)"
        R"("pods":[{}],"answers":[{}],"events":[{}]}})",
        fmt::join(metrics, ","), behavior.empty() ? "" : R"(,"behavior":)" + behavior,
        fmt::join(conditions, ","), replicas, status_replicas < 0 ? replicas : status_replicas,
        selector, fmt::join(pods, ","), fmt::join(answers, ","), fmt::join(events, ","));
  }
};

}  // namespace activescale::insight
