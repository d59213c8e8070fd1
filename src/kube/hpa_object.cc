#include "kube/hpa_object.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "kube/api_client.h"
#include "kube/json.h"
#include "metric/quantity.h"

namespace activescale::kube {
namespace {

namespace json = boost::json;
std::unexpected<base::Error> Fail(std::string_view field, std::string_view why) {
  return base::Fail(base::Code::kInvalidArgument,
                    fmt::format("the HorizontalPodAutoscaler's {} {}", field, why));
}

/// The whole number at a path; nothing if it is absent, no number or out of range.
std::optional<int32_t> FindInt(const json::object& object,
                               std::initializer_list<std::string_view> path) {
  const json::value* value = FindValue(object, path);
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  const int64_t number = value->get_int64();
  if (number < 0 || number > std::numeric_limits<int32_t>::max()) return std::nullopt;
  return static_cast<int32_t>(number);
}

ObjectRef ReadRef(const json::object& ref) {
  return {.api_version = std::string(FindString(ref, {"apiVersion"})),
          .kind = std::string(FindString(ref, {"kind"})),
          .name = std::string(FindString(ref, {"name"}))};
}

hpa::ScalingRules ReadRules(const json::object* object, hpa::ScalingRules rules) {
  if (object == nullptr) return rules;
  if (const auto window = FindInt(*object, {"stabilizationWindowSeconds"})) {
    rules.stabilization_window_seconds = window;
  }
  const std::string_view select = FindString(*object, {"selectPolicy"});
  if (select == "Min") rules.select = hpa::SelectPolicy::kMin;
  if (select == "Disabled") rules.select = hpa::SelectPolicy::kDisabled;
  if (const auto tolerance = metric::Quantity::Parse(FindString(*object, {"tolerance"}))) {
    rules.tolerance = tolerance->ToDouble();
  }
  const json::array* policies = FindArray(*object, {"policies"});
  if (policies == nullptr) return rules;
  rules.policies.clear();
  for (const json::value& value : *policies) {
    if (!value.is_object()) continue;
    const json::object& policy = value.get_object();
    rules.policies.push_back({.type = FindString(policy, {"type"}) == "Pods"
                                          ? hpa::PolicyType::kPods
                                          : hpa::PolicyType::kPercent,
                              .value = FindInt(policy, {"value"}).value_or(0),
                              .period_seconds = FindInt(policy, {"periodSeconds"}).value_or(0)});
  }
  return rules;
}

base::Result<void> ReadTarget(const json::object& source, const std::string& field,
                              hpa::MetricSpec* out) {
  const std::string_view type = FindString(source, {"target", "type"});
  if (type == "Utilization") {
    const auto percent = FindInt(source, {"target", "averageUtilization"});
    if (!percent || *percent < 1) return Fail(field + ".averageUtilization", "is not above 0");
    out->target_type = hpa::TargetType::kUtilization;
    out->target = *percent;
    return {};
  }
  if (type != "Value" && type != "AverageValue") {
    return Fail(field + ".type", "is not Value, AverageValue or Utilization");
  }
  const bool average = type == "AverageValue";
  const std::string_view member = average ? "averageValue" : "value";
  const auto amount = metric::Quantity::Parse(FindString(source, {"target", member}));
  if (!amount || amount->milli() < 1) {
    return Fail(fmt::format("{}.{}", field, member), "is not a quantity above 0");
  }
  out->target_type = average ? hpa::TargetType::kAverageValue : hpa::TargetType::kValue;
  out->target = amount->milli();
  return {};
}

struct KindOfMetric {
  std::string_view name;
  std::string_view member;
  hpa::MetricType type;
};
constexpr KindOfMetric kKinds[] = {
    {"Pods", "pods", hpa::MetricType::kPods},
    {"Object", "object", hpa::MetricType::kObject},
    {"External", "external", hpa::MetricType::kExternal},
    {"Resource", "resource", hpa::MetricType::kResource},
    {"ContainerResource", "containerResource", hpa::MetricType::kResource},
};

base::Result<void> ReadMetric(const json::object& object, size_t index, HpaObject* out) {
  const std::string at = fmt::format("spec.metrics[{}]", index);
  const std::string_view type = FindString(object, {"type"});
  for (const KindOfMetric& kind : kKinds) {
    if (kind.name != type) continue;
    const std::string field = fmt::format("{}.{}", at, kind.member);
    const json::object* source = FindObject(object, {kind.member});
    if (source == nullptr) return Fail(field, "is missing");
    hpa::MetricSpec spec{.type = kind.type};
    const bool resource = kind.type == hpa::MetricType::kResource;
    spec.name = resource ? FindString(*source, {"name"}) : FindString(*source, {"metric", "name"});
    if (spec.name.empty()) return Fail(field, "has no name");
    if (auto read = ReadTarget(*source, field + ".target", &spec); !read) return read;
    MetricSource from{
        .selector = {}, .container = std::string(FindString(*source, {"container"})), .object = {}};
    if (const json::object* selector = FindObject(*source, {"metric", "selector"})) {
      from.selector = SelectorText(*selector);
    }
    if (const json::object* described = FindObject(*source, {"describedObject"})) {
      from.object = ReadRef(*described);
    }
    out->spec.metrics.push_back(std::move(spec));
    out->sources.push_back(std::move(from));
    return {};
  }
  return Fail(at + ".type", fmt::format("\"{}\" is not known here", type));
}

std::map<std::string, std::string, std::less<>> ReadAnnotations(const json::object& object) {
  std::map<std::string, std::string, std::less<>> out;
  const json::object* annotations = FindObject(object, {"metadata", "annotations"});
  if (annotations == nullptr) return out;
  for (const auto& [key, value] : *annotations) {
    const std::string_view name = key;
    const bool read =
        name.starts_with("activescale.io/") || name.starts_with("autoscaling.keda.sh/");
    if (read && value.is_string()) out.emplace(name, std::string_view(value.get_string()));
  }
  return out;
}

std::vector<Condition> ReadConditions(const json::object& object) {
  std::vector<Condition> conditions;
  const json::array* list = FindArray(object, {"status", "conditions"});
  if (list == nullptr) return conditions;
  for (const json::value& value : *list) {
    if (!value.is_object()) continue;
    const json::object& condition = value.get_object();
    conditions.push_back({.type = std::string(FindString(condition, {"type"})),
                          .status = std::string(FindString(condition, {"status"})),
                          .reason = std::string(FindString(condition, {"reason"})),
                          .message = std::string(FindString(condition, {"message"})),
                          .since = std::string(FindString(condition, {"lastTransitionTime"}))});
  }
  return conditions;
}

}  // namespace

std::string SelectorText(const json::object& selector) {
  std::vector<std::string> terms;
  if (const json::object* labels = FindObject(selector, {"matchLabels"})) {
    for (const auto& [key, value] : *labels) {
      if (!value.is_string()) continue;
      terms.push_back(
          fmt::format("{}={}", std::string_view(key), std::string_view(value.get_string())));
    }
  }
  if (const json::array* expressions = FindArray(selector, {"matchExpressions"})) {
    for (const json::value& value : *expressions) {
      if (!value.is_object()) continue;
      const json::object& term = value.get_object();
      const std::string_view key = FindString(term, {"key"});
      const std::string_view op = FindString(term, {"operator"});
      std::vector<std::string_view> values;
      if (const json::array* list = FindArray(term, {"values"})) {
        for (const json::value& each : *list) {
          if (each.is_string()) values.emplace_back(each.get_string());
        }
      }
      if (op == "Exists") terms.emplace_back(key);
      if (op == "DoesNotExist") terms.push_back(fmt::format("!{}", key));
      if (op == "In") terms.push_back(fmt::format("{} in ({})", key, fmt::join(values, ",")));
      if (op == "NotIn") terms.push_back(fmt::format("{} notin ({})", key, fmt::join(values, ",")));
    }
  }
  return fmt::format("{}", fmt::join(terms, ","));
}

const Condition* HpaObject::FindCondition(std::string_view type) const {
  const auto found = std::ranges::find(conditions, type, &Condition::type);
  return found == conditions.end() ? nullptr : &*found;
}

std::string MetricTitle(const hpa::MetricSpec& spec, const MetricSource& source) {
  constexpr std::string_view kNames[] = {"Pods", "Object", "External", "Resource"};
  std::string title = fmt::format("{} {}", kNames[static_cast<size_t>(spec.type)], spec.name);
  if (!source.object.name.empty()) {
    title += fmt::format(" of {}/{}", source.object.kind, source.object.name);
  }
  if (!source.container.empty()) title += fmt::format(" of container {}", source.container);
  if (!source.selector.empty()) title += fmt::format(" {{{}}}", source.selector);
  return title;
}

base::Result<HpaObject> ReadHpa(const json::object& object) {
  HpaObject out{.ns = std::string(FindString(object, {"metadata", "namespace"})),
                .name = std::string(FindString(object, {"metadata", "name"})),
                .uid = std::string(FindString(object, {"metadata", "uid"})),
                .deleting = !FindString(object, {"metadata", "deletionTimestamp"}).empty(),
                .annotations = ReadAnnotations(object),
                .target = {},
                .spec = {},
                .sources = {},
                .conditions = ReadConditions(object)};
  const json::object* target = FindObject(object, {"spec", "scaleTargetRef"});
  if (target == nullptr) return Fail("spec.scaleTargetRef", "is missing");
  out.target = ReadRef(*target);
  const auto most = FindInt(object, {"spec", "maxReplicas"});
  if (!most) return Fail("spec.maxReplicas", "is missing");
  out.spec.max_replicas = *most;
  out.spec.min_replicas = FindInt(object, {"spec", "minReplicas"}).value_or(1);
  const json::array* metrics = FindArray(object, {"spec", "metrics"});
  if (metrics == nullptr || metrics->empty()) return Fail("spec.metrics", "is missing");
  for (size_t i = 0; i < metrics->size(); ++i) {
    if (!(*metrics)[i].is_object()) return Fail("spec.metrics", "has an entry that is no object");
    auto read = ReadMetric((*metrics)[i].get_object(), i, &out);
    if (!read) return std::unexpected(std::move(read.error()));
  }
  if (const json::object* behavior = FindObject(object, {"spec", "behavior"})) {
    out.spec.behavior = hpa::Behavior{
        ReadRules(FindObject(*behavior, {"scaleUp"}), hpa::ScalingRules::DefaultUp()),
        ReadRules(FindObject(*behavior, {"scaleDown"}), hpa::ScalingRules::DefaultDown())};
  }
  out.desired_replicas = FindInt(object, {"status", "desiredReplicas"}).value_or(0);
  return out;
}

std::string CustomMetricPath(std::string_view root, std::string_view ns,
                             const hpa::MetricSpec& spec, const MetricSource& source,
                             std::string_view resource, std::string_view pods) {
  const std::string series =
      source.selector.empty() ? "" : "metricLabelSelector=" + QueryEscape(source.selector);
  if (spec.type == hpa::MetricType::kPods) {
    return fmt::format("{}/namespaces/{}/pods/%2A/{}?labelSelector={}{}{}", root, ns,
                       QueryEscape(spec.name), QueryEscape(pods), series.empty() ? "" : "&",
                       series);
  }
  return fmt::format("{}/namespaces/{}/{}/{}/{}?{}", root, ns, resource,
                     QueryEscape(source.object.name), QueryEscape(spec.name), series);
}

}  // namespace activescale::kube
