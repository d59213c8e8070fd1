#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace activescale::metricsapi {

/// A metrics API group as discovery tells it.
struct ApiGroup {
  std::string name;                    // "custom.metrics.k8s.io"
  std::vector<std::string> versions;   // the preferred one first
  std::string list_kind;               // of what a read answers: "MetricValueList"
  std::vector<std::string> resources;  // "pods/inbound_active_requests"
};

/// The custom metrics group. Resources are named by kind of object and metric, never by object, so
/// the lists stay as small with ten thousand pods as with none, and are never empty.
[[nodiscard]] ApiGroup CustomMetricsGroup();

/// APIGroupList for /apis.
[[nodiscard]] std::string WriteGroupList(const std::vector<ApiGroup>& groups);
/// APIGroup for /apis/<group>.
[[nodiscard]] std::string WriteGroup(const ApiGroup& group);
/// APIResourceList for /apis/<group>/<version>.
[[nodiscard]] std::string WriteResourceList(const ApiGroup& group, std::string_view version);
/// version.Info for /version; `version` is "v1.2.3". Source: kubernetes/apimachinery:pkg/version.
[[nodiscard]] std::string WriteVersion(std::string_view version);

}  // namespace activescale::metricsapi
