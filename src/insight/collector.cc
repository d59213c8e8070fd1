#include "insight/collector.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/ascii.h"
#include "insight/snapshot.h"
#include "kube/hpa_object.h"
#include "kube/json.h"
#include "kube/object_stream.h"

namespace activescale::insight {
namespace {

namespace json = boost::json;
using kube::FindArray;
using kube::FindString;
using kube::FindValue;
using kube::MetricSource;
using kube::ObjectRef;
using kube::QueryEscape;

constexpr int kPodsAPage = 500;

/// `value` with the masked members alone.
json::value Keep(const json::value& value, const kube::FieldMask& mask) {
  if (mask.keeps_all()) return value;
  if (const json::array* list = value.if_array()) {
    json::array out;
    for (const json::value& item : *list) out.push_back(Keep(item, mask));
    return out;
  }
  const json::object* object = value.if_object();
  if (object == nullptr) return value;
  json::object out;
  for (const auto& [key, member] : *object) {
    if (const kube::FieldMask* of_member = mask.Find(key)) out[key] = Keep(member, *of_member);
  }
  return out;
}

const kube::FieldMask& HpaMask() {
  static const kube::FieldMask mask = {"metadata.namespace", "metadata.name", "spec", "status"};
  return mask;
}

const kube::FieldMask& ScaleMask() {
  static const kube::FieldMask mask = {"spec.replicas", "status.replicas", "status.selector"};
  return mask;
}

const kube::FieldMask& PodMask() {
  static const kube::FieldMask mask = {"metadata.name",
                                       "metadata.labels",
                                       "metadata.deletionTimestamp",
                                       "metadata.ownerReferences",
                                       "spec.resources.requests",
                                       "spec.containers.name",
                                       "spec.containers.resources.requests",
                                       "spec.initContainers.name",
                                       "spec.initContainers.restartPolicy",
                                       "spec.initContainers.resources.requests",
                                       "status.phase",
                                       "status.startTime",
                                       "status.conditions.type",
                                       "status.conditions.status",
                                       "status.conditions.lastTransitionTime",
                                       "status.containerStatuses.restartCount",
                                       "status.containerStatuses.state.waiting.reason"};
  return mask;
}

const kube::FieldMask& AnswerMask() {
  static const kube::FieldMask mask = {
      "items.metadata.name", "items.describedObject.name", "items.value",     "items.timestamp",
      "items.window",        "items.windowSeconds",        "items.containers"};
  return mask;
}

const kube::FieldMask& EventMask() {
  static const kube::FieldMask mask = {"reason", "message", "count", "lastTimestamp", "eventTime"};
  return mask;
}

/// Asks, and collects the document.
class Collection {
 public:
  Collection(const GetJson& get, std::string ns) : get_(get), ns_(std::move(ns)) {}

  base::Result<std::string> Run(const std::string& name, base::WallTime now);

 private:
  kube::ApiResult<std::string> ResourceOf(const ObjectRef& ref);
  kube::ApiResult<json::object> Scale(const ObjectRef& target);
  kube::ApiResult<std::string> PathOf(const hpa::MetricSpec& spec, const MetricSource& source,
                                      const std::string& selector);
  kube::ApiResult<std::string> CustomMetrics();
  json::object Answer(const hpa::MetricSpec& spec, const MetricSource& source,
                      const std::string& selector);
  json::array Events(const std::string& name);

  const GetJson& get_;
  const std::string ns_;
};

/// The root of an API version's paths.
std::string RootOf(const std::string& api_version) {
  return (api_version.find('/') == std::string::npos ? "/api/" : "/apis/") + api_version;
}

/// The plural name of a kind, from discovery: "deployments".
kube::ApiResult<std::string> Collection::ResourceOf(const ObjectRef& ref) {
  const auto list = get_(RootOf(ref.api_version));
  if (!list) return std::unexpected(list.error());
  for (const json::object* resource : kube::FindObjects(*list, {"resources"})) {
    const std::string_view name = FindString(*resource, {"name"});
    const bool subresource = name.find('/') != std::string_view::npos;
    if (!subresource && FindString(*resource, {"kind"}) == ref.kind) return std::string(name);
  }
  return std::unexpected(kube::ApiError{
      {base::Code::kNotFound,
       fmt::format("the API server knows no kind {} in {}", ref.kind, ref.api_version)},
      404,
      {},
      {}});
}

kube::ApiResult<json::object> Collection::Scale(const ObjectRef& target) {
  const auto resource = ResourceOf(target);
  if (!resource) return std::unexpected(resource.error());
  return get_(fmt::format("{}/namespaces/{}/{}/{}/scale", RootOf(target.api_version), ns_,
                          *resource, target.name));
}

/// The root of the custom metrics API in the version that the API server prefers, as the
/// controller chooses it.
kube::ApiResult<std::string> Collection::CustomMetrics() {
  const std::string group = "/apis/custom.metrics.k8s.io";
  const auto found = get_(group);
  if (!found) return std::unexpected(found.error());
  return fmt::format("{}/{}", group, FindString(*found, {"preferredVersion", "version"}));
}

kube::ApiResult<std::string> Collection::PathOf(const hpa::MetricSpec& spec,
                                                const MetricSource& source,
                                                const std::string& selector) {
  const std::string pods = QueryEscape(selector);
  const std::string series = QueryEscape(source.selector);
  if (spec.type == hpa::MetricType::kResource) {
    return fmt::format("/apis/metrics.k8s.io/v1beta1/namespaces/{}/pods?labelSelector={}", ns_,
                       pods);
  }
  if (spec.type == hpa::MetricType::kExternal) {
    return fmt::format("/apis/external.metrics.k8s.io/v1beta1/namespaces/{}/{}?labelSelector={}",
                       ns_, QueryEscape(base::Lower(spec.name)), series);
  }
  const auto root = CustomMetrics();
  if (!root) return root;
  if (spec.type == hpa::MetricType::kPods) {
    return kube::CustomMetricPath(*root, ns_, spec, source, "", selector);
  }
  // The controller never leaves its own namespace, whatever Namespace the HPA names.
  const std::string_view group = source.object.group();
  if (source.object.kind == "Namespace" && group.empty()) {
    return fmt::format("{}/namespaces/{}/metrics/{}?{}", *root, ns_, QueryEscape(spec.name),
                       series.empty() ? "" : "metricLabelSelector=" + series);
  }
  auto resource = ResourceOf(source.object);
  if (!resource) return resource;
  if (!group.empty()) resource->append(".").append(group);
  return kube::CustomMetricPath(*root, ns_, spec, source, *resource, selector);
}

json::object Collection::Answer(const hpa::MetricSpec& spec, const MetricSource& source,
                                const std::string& selector) {
  const auto path = PathOf(spec, source, selector);
  const auto answer = path ? get_(*path) : std::unexpected(path.error());
  if (answer) return Keep(*answer, AnswerMask()).as_object();
  return {{"error",
           {{"message", answer.error().error.message}, {"status", answer.error().http_status}}}};
}

json::array Collection::Events(const std::string& name) {
  json::array events;
  const auto found = get_(fmt::format(
      "/api/v1/namespaces/{}/events?fieldSelector={}", ns_,
      QueryEscape("involvedObject.kind=HorizontalPodAutoscaler,involvedObject.name=" + name)));
  // Without events less is known; the explanation says so.
  if (!found) return events;
  if (const json::array* items = FindArray(*found, {"items"})) {
    for (const json::value& item : *items) events.push_back(Keep(item, EventMask()));
  }
  return events;
}

base::Result<std::string> Collection::Run(const std::string& name, base::WallTime now) {
  const auto hpa = get_(fmt::format(
      "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers/{}", ns_, QueryEscape(name)));
  if (!hpa) return std::unexpected(hpa.error().error);
  const auto read = kube::ReadHpa(*hpa);
  if (!read) return std::unexpected(read.error());
  const auto scale = Scale(read->target);
  if (!scale) return std::unexpected(scale.error().error);
  const std::string selector(FindString(*scale, {"status", "selector"}));
  json::array pods;
  json::array answers;
  if (!selector.empty()) {
    auto found = ListPods(get_, ns_, selector, PodMask());
    if (!found) return std::unexpected(found.error().error);
    pods = *std::move(found);
    for (size_t i = 0; i < read->sources.size(); ++i) {
      answers.push_back(Answer(read->spec.metrics[i], read->sources[i], selector));
    }
  }
  const auto asked = read->annotations.find("activescale.io/scale-ahead");
  const std::string ahead = asked == read->annotations.end() ? "" : asked->second.substr(0, 64);
  const json::object document{{"kind", kSnapshotKind},        {"takenAt", TimeText(now)},
                              {"hpa", Keep(*hpa, HpaMask())}, {"scale", Keep(*scale, ScaleMask())},
                              {"pods", std::move(pods)},      {"answers", std::move(answers)},
                              {"events", Events(name)},       {"scaleAhead", ahead}};
  return json::serialize(document) + "\n";
}

}  // namespace

kube::ApiResult<json::array> ListPods(const GetJson& get, const std::string& ns,
                                      const std::string& selector, const kube::FieldMask& mask) {
  json::array pods;
  std::string token;
  do {
    const auto page = get(fmt::format("/api/v1/namespaces/{}/pods?limit={}&labelSelector={}{}", ns,
                                      kPodsAPage, QueryEscape(selector),
                                      token.empty() ? "" : "&continue=" + QueryEscape(token)));
    if (!page) return std::unexpected(page.error());
    if (const json::array* items = FindArray(*page, {"items"})) {
      for (const json::value& item : *items) pods.push_back(Keep(item, mask));
    }
    token = FindString(*page, {"metadata", "continue"});
  } while (!token.empty());
  return pods;
}

base::Result<std::string> Collect(const GetJson& get, const std::string& ns,
                                  const std::string& name, base::WallTime now) {
  return Collection(get, ns).Run(name, now);
}

}  // namespace activescale::insight
