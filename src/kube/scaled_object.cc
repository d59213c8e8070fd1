#include "kube/scaled_object.h"

#include <string_view>
#include <utility>

#include "kube/json.h"

namespace activescale::kube {
namespace {

namespace json = boost::json;

bool IsSomething(const json::object& object, std::initializer_list<std::string_view> path) {
  const json::value* value = FindValue(object, path);
  if (value == nullptr || value->is_null()) return false;
  return !value->is_object() || !value->get_object().empty();
}

ScaledTrigger ReadTrigger(const json::value& value) {
  const json::object* object = value.if_object();
  if (object == nullptr) return {};
  ScaledTrigger trigger{.type = std::string(FindString(*object, {"type"})),
                        .metric_type = std::string(FindString(*object, {"metricType"})),
                        .metadata = {}};
  const json::value* cached = FindValue(*object, {"useCachedMetrics"});
  trigger.cached = cached != nullptr && cached->is_bool() && cached->get_bool();
  if (trigger.type != "external" && trigger.type != "external-push") return trigger;
  const json::object* metadata = FindObject(*object, {"metadata"});
  if (metadata == nullptr) return {};
  for (const auto& [key, text] : *metadata) {
    // One key less can ask for more: a query without its namespace.
    if (!text.is_string()) return {};
    trigger.metadata.emplace(key, std::string_view(text.get_string()));
  }
  return trigger;
}

}  // namespace

ScaledObject ReadScaledObject(const json::object& object) {
  ScaledObject out{.ns = std::string(FindString(object, {"metadata", "namespace"})),
                   .name = std::string(FindString(object, {"metadata", "name"})),
                   .has_fallback = IsSomething(object, {"spec", "fallback"}),
                   .has_modifiers = IsSomething(object, {"spec", "advanced", "scalingModifiers"}),
                   .triggers = {}};
  if (const json::array* triggers = FindArray(object, {"spec", "triggers"})) {
    out.triggers.reserve(triggers->size());
    for (const json::value& trigger : *triggers) out.triggers.push_back(ReadTrigger(trigger));
  }
  return out;
}

}  // namespace activescale::kube
