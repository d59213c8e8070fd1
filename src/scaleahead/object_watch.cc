#include "scaleahead/object_watch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "kube/json.h"
#include "scaleahead/kube_hands.h"

namespace activescale::scaleahead {
namespace {

namespace json = boost::json;
using kube::FindObject;
using kube::FindString;
using kube::FindValue;

struct TargetKind {
  std::string_view kind;
  std::string_view resource;
};
constexpr std::array<TargetKind, 2> kKinds = {
    {{"Deployment", "deployments"}, {"StatefulSet", "statefulsets"}}};

kube::WatchGroup::Resource Hpas() {
  return {.name = "horizontalpodautoscalers",
          .prefix = "/apis/autoscaling/v2",
          .field_selector = {},
          .metadata_only = false,
          .mask = {"metadata.uid", "metadata.annotations", "metadata.deletionTimestamp", "spec",
                   "status.conditions", "status.desiredReplicas"}};
}

kube::WatchGroup::Resource Targets(std::string_view resource) {
  return {.name = std::string(resource),
          .prefix = "/apis/apps/v1",
          .field_selector = {},
          .metadata_only = false,
          .mask = {"spec.replicas", "spec.selector", "spec.paused", "status.replicas",
                   "metadata.managedFields.manager",
                   "metadata.managedFields.fieldsV1.f:spec.f:replicas"}};
}

/// Whether the last one who wrote the count was one who takes steps ahead: an owner loses a field
/// that another one changes.
bool IsStepped(const json::object& object) {
  const auto owners = kube::FindObjects(object, {"metadata", "managedFields"});
  return std::ranges::any_of(owners, [](const json::object* owner) {
    return FindString(*owner, {"manager"}) == kFieldManager &&
           FindValue(*owner, {"fieldsV1", "f:spec", "f:replicas"}) != nullptr;
  });
}

int32_t FindCount(const json::object& object, std::initializer_list<std::string_view> path,
                  int32_t absent) {
  const json::value* value = FindValue(object, path);
  return value != nullptr && value->is_int64() ? static_cast<int32_t>(value->get_int64()) : absent;
}

}  // namespace

std::string ObjectKey(std::string_view ns, std::string_view name) {
  return std::string(ns).append("/").append(name);
}

std::string_view ResourceOfTarget(std::string_view api_version, std::string_view kind) {
  if (!api_version.starts_with("apps/")) return {};
  for (const TargetKind& known : kKinds) {
    if (known.kind == kind) return known.resource;
  }
  return {};
}

Target ReadTarget(const json::object& object, std::string_view kind, std::string_view resource) {
  Target target{
      .ns = std::string(FindString(object, {"metadata", "namespace"})),
      .kind = std::string(kind),
      .resource = std::string(resource),
      .name = std::string(FindString(object, {"metadata", "name"})),
      .resource_version = std::string(FindString(object, {"metadata", "resourceVersion"})),
      .selector = {},
      .spec_replicas = FindCount(object, {"spec", "replicas"}, 1),
      .status_replicas = FindCount(object, {"status", "replicas"}, 0)};
  if (const json::object* selector = FindObject(object, {"spec", "selector"})) {
    target.selector = kube::SelectorText(*selector);
  }
  const json::value* paused = FindValue(object, {"spec", "paused"});
  target.paused = paused != nullptr && paused->is_bool() && paused->get_bool();
  target.stepped = IsStepped(object);
  return target;
}

ObjectWatch::Kind::Kind(ObjectWatch& watch, const kube::WatchGroup::Context& context,
                        const std::vector<std::string>& namespaces, std::string_view kind,
                        std::string_view resource)
    : sink(
          [&watch, kind, resource](const json::object& object) {
            watch.listener_.on_target(ReadTarget(object, kind, resource));
          },
          [&watch, resource](std::string_view ns, std::string_view name) {
            watch.listener_.on_target_gone(std::string(ns), std::string(resource),
                                           std::string(name));
          }),
      group(context, Targets(resource), namespaces, sink) {}

ObjectWatch::ObjectWatch(const kube::WatchGroup::Context& context,
                         const std::vector<std::string>& namespaces, Listener listener)
    : listener_(std::move(listener)),
      hpa_sink_([this](const json::object& object) { OnHpa(object); },
                [this](std::string_view ns, std::string_view name) { OnHpaGone(ns, name); }),
      hpas_(context, Hpas(), namespaces, hpa_sink_),
      deployments_(*this, context, namespaces, kKinds[0].kind, kKinds[0].resource),
      stateful_sets_(*this, context, namespaces, kKinds[1].kind, kKinds[1].resource) {}

void ObjectWatch::Start() {
  hpas_.Start();
  deployments_.group.Start();
  stateful_sets_.group.Start();
}

base::Result<void> ObjectWatch::Check(std::string_view ns) const {
  for (const kube::WatchGroup* group : {&hpas_, &deployments_.group, &stateful_sets_.group}) {
    if (auto known = group->CheckNamespace(ns); !known) return known;
  }
  return {};
}

void ObjectWatch::OnHpa(const json::object& object) {
  const std::string_view ns = FindString(object, {"metadata", "namespace"});
  const std::string_view name = FindString(object, {"metadata", "name"});
  const json::object* annotations = FindObject(object, {"metadata", "annotations"});
  if (annotations == nullptr || !annotations->contains(kAnnotation)) return OnHpaGone(ns, name);
  auto hpa = kube::ReadHpa(object);
  if (!hpa) {
    LOG_WARNING("HPA {}/{} is left to its controller: {}", ns, name, hpa.error().message);
    return OnHpaGone(ns, name);
  }
  asking_.insert(ObjectKey(ns, name));
  listener_.on_hpa(*std::move(hpa));
}

void ObjectWatch::OnHpaGone(std::string_view ns, std::string_view name) {
  if (asking_.erase(ObjectKey(ns, name)) > 0)
    listener_.on_hpa_gone(std::string(ns), std::string(name));
}

}  // namespace activescale::scaleahead
