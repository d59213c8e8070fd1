#include "metricsapi/discovery.h"

#include <algorithm>

#include "base/json_text.h"
#include "metric/metric_kind.h"
#include "metricsapi/workload_kind.h"

namespace activescale::metricsapi {

namespace {

std::string Quoted(std::string_view text) {
  std::string out;
  base::AppendJsonString(text, out);
  return out;
}

std::string GroupVersion(const ApiGroup& group, std::string_view version) {
  return R"({"groupVersion":)" + Quoted(group.name + "/" + std::string(version)) +
         R"(,"version":)" + Quoted(version) + "}";
}

/// `"name":...` to the end of an APIGroup, without its kind.
std::string GroupMembers(const ApiGroup& group) {
  std::string out = R"("name":)" + Quoted(group.name) + R"(,"versions":[)";
  for (const std::string& version : group.versions) {
    if (out.back() == '}') out += ',';
    out += GroupVersion(group, version);
  }
  return out + R"(],"preferredVersion":)" + GroupVersion(group, group.versions.front()) + "}";
}

}  // namespace

ApiGroup CustomMetricsGroup() {
  ApiGroup group{"custom.metrics.k8s.io", {"v1beta2", "v1beta1"}, "MetricValueList", {}};
  const auto add = [&group](std::string_view resource) {
    for (const std::string_view metric : metric::kMetricNames) {
      group.resources.push_back(std::string(resource) + "/" + std::string(metric));
    }
  };
  add("pods");
  for (const WorkloadKind& kind : kWorkloadKinds) add(kind.resource);
  return group;
}

std::string WriteGroupList(const std::vector<ApiGroup>& groups) {
  std::string out = R"({"kind":"APIGroupList","apiVersion":"v1","groups":[)";
  for (const ApiGroup& group : groups) {
    if (out.back() == '}') out += ',';
    out += '{' + GroupMembers(group);
  }
  return out + "]}\n";
}

std::string WriteGroup(const ApiGroup& group) {
  return R"({"kind":"APIGroup","apiVersion":"v1",)" + GroupMembers(group) + "\n";
}

std::string WriteResourceList(const ApiGroup& group, std::string_view version) {
  std::string out = R"({"kind":"APIResourceList","apiVersion":"v1","groupVersion":)" +
                    Quoted(group.name + "/" + std::string(version)) + R"(,"resources":[)";
  for (const std::string& resource : group.resources) {
    if (out.back() == '}') out += ',';
    out += R"({"name":)" + Quoted(resource) + R"(,"singularName":"","namespaced":true,"kind":)" +
           Quoted(group.list_kind) + R"(,"verbs":["get"]})";
  }
  return out + "]}\n";
}

std::string WriteVersion(std::string_view version) {
  const std::string_view numbers = version.starts_with('v') ? version.substr(1) : version;
  const size_t dot = std::min(numbers.find('.'), numbers.size());
  const std::string_view rest = numbers.substr(std::min(dot + 1, numbers.size()));
  return R"({"major":)" + Quoted(numbers.substr(0, dot)) + R"(,"minor":)" +
         Quoted(rest.substr(0, rest.find('.'))) + R"(,"gitVersion":)" + Quoted(version) +
         R"(,"platform":"linux"})" + "\n";
}

}  // namespace activescale::metricsapi
