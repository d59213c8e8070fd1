#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "base/ascii.h"
#include "insight/doctor_gather.h"
#include "kube/json.h"
#include "metric/metric_kind.h"
#include "metric/quantity.h"

namespace activescale::insight {
namespace {

namespace json = boost::json;
using kube::FindObject;
using kube::FindObjects;
using kube::FindString;
using kube::QueryEscape;

/// Of a pod, what ReadSidecar reads.
const kube::FieldMask& SidecarMask() {
  static const kube::FieldMask mask = {"metadata.name", "metadata.annotations", "spec.containers",
                                       "spec.initContainers"};
  return mask;
}

PodValues ReadValues(const kube::ApiResult<json::object>& answer) {
  if (!answer) {
    base::Error error = answer.error().error;
    if (error.code == base::Code::kNotFound && !MeansNoTelemetry(answer.error())) {
      error.code = base::Code::kUnavailable;
    }
    return std::unexpected(std::move(error));
  }
  std::map<std::string, int64_t> out;
  for (const json::object* item : FindObjects(*answer, {"items"})) {
    const auto quantity = metric::Quantity::Parse(FindString(*item, {"value"}));
    if (!quantity) return std::unexpected(quantity.error());
    out[std::string(FindString(*item, {"describedObject", "name"}))] = quantity->milli();
  }
  return out;
}

ProxySettings TemplateOf(const ClusterReader& reader, const std::string& ns,
                         const kube::ObjectRef& target) {
  const std::string resource = base::Lower(target.kind) + "s";
  const auto owner = reader.get(fmt::format("/apis/{}/namespaces/{}/{}/{}", target.api_version, ns,
                                            resource, QueryEscape(target.name)));
  // A kind without a pod template, or one that may not be seen: then nothing is asked for there.
  if (!owner) return {};
  const json::object* pod_template = FindObject(*owner, {"spec", "template"});
  return pod_template == nullptr ? ProxySettings() : ReadTemplate(*pod_template);
}

ProxySettings MeshOf(const ClusterReader& reader) {
  const auto map = reader.get("/api/v1/namespaces/istio-system/configmaps/istio");
  if (!map) return {};
  return ReadMeshConfig(std::string(FindString(*map, {"data", "mesh"}))).value_or(ProxySettings());
}

}  // namespace

std::string CustomMetricsRoot(const ClusterReader& reader) {
  const std::string group = "/apis/custom.metrics.k8s.io";
  const auto found = reader.get(group);
  const std::string_view version =
      found ? FindString(*found, {"preferredVersion", "version"}) : std::string_view("v1beta2");
  return fmt::format("{}/{}", group, version);
}

bool MeansNoTelemetry(const kube::ApiError& error) {
  return error.http_status == 404 &&
         error.error.message.find("fresh telemetry") != std::string::npos;
}

base::Result<WorkloadFacts> GatherWorkload(const ClusterReader& reader,
                                           const DoctorQuestion& question) {
  const auto document = Collect(reader.get, question.hpa_ns, question.hpa, question.now);
  if (!document) return std::unexpected(document.error());
  auto snapshot = ReadSnapshot(*document);
  if (!snapshot) return std::unexpected(snapshot.error());
  WorkloadFacts facts{.snapshot = *std::move(snapshot),
                      .pods = {},
                      .values = {},
                      .template_settings = {},
                      .mesh_settings = {}};
  json::error_code fault;
  const json::value parsed = json::parse(*document, fault);
  const std::string selector(FindString(parsed.get_object(), {"scale", "status", "selector"}));
  if (selector.empty()) return facts;

  const auto raw = ListPods(reader.get, question.hpa_ns, selector, SidecarMask());
  if (!raw) return std::unexpected(raw.error().error);
  std::map<std::string, Sidecar, std::less<>> sidecars;
  for (const json::value& pod : *raw) {
    if (const json::object* object = pod.if_object()) {
      sidecars[std::string(FindString(*object, {"metadata", "name"}))] = ReadSidecar(*object);
    }
  }
  const Snapshot& seen = facts.snapshot;
  for (size_t i = 0; i < seen.seen.pods.size(); ++i) {
    const hpa::Pod& pod = seen.seen.pods[i];
    const bool finished =
        pod.phase == hpa::PodPhase::kSucceeded || pod.phase == hpa::PodPhase::kFailed;
    facts.pods.push_back({.name = pod.name,
                          .owner = seen.facts[i].owner,
                          .live = !finished && !pod.deleting,
                          .ready = pod.ready.value_or(false),
                          .sidecar = sidecars[pod.name]});
  }
  const std::string root = CustomMetricsRoot(reader);
  for (const std::string_view metric : metric::kMetricNames) {
    facts.values.emplace(
        metric,
        ReadValues(reader.get(fmt::format("{}/namespaces/{}/pods/%2A/{}?labelSelector={}", root,
                                          question.hpa_ns, metric, QueryEscape(selector)))));
  }
  facts.template_settings = TemplateOf(reader, question.hpa_ns, seen.hpa.target);
  const auto in_mesh = [](const WorkloadPod& pod) { return pod.sidecar.present; };
  if (std::ranges::any_of(facts.pods, in_mesh)) facts.mesh_settings = MeshOf(reader);
  return facts;
}

}  // namespace activescale::insight
