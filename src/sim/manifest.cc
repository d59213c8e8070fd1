// yaml-cpp throws; nothing of it leaves this file.
#include "sim/manifest.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "metric/quantity.h"

namespace activescale::sim {
namespace {

/// Ends the reading; becomes an Error in ReadManifest.
struct Refused {
  std::string message;
};

[[noreturn]] void Refuse(const YAML::Node& at, std::string_view field, std::string_view why) {
  // A node that does not exist has no place; its field does.
  const int line = at.IsDefined() ? at.Mark().line + 1 : 0;
  throw Refused{line > 0 ? fmt::format("line {}, {}: {}", line, field, why)
                         : fmt::format("{}: {}", field, why)};
}

std::string Text(const YAML::Node& node, std::string_view field) {
  if (!node.IsDefined() || !node.IsScalar()) Refuse(node, field, "must be given, as text");
  return node.Scalar();
}

int32_t Int(const YAML::Node& node, std::string_view field, int32_t least, int32_t most) {
  int64_t value = 0;
  if (!node.IsDefined() || !YAML::convert<int64_t>::decode(node, value)) {
    Refuse(node, field, "must be a whole number");
  }
  if (value < least || value > most) {
    Refuse(node, field, fmt::format("is {}; it must be {} to {}", value, least, most));
  }
  return static_cast<int32_t>(value);
}

int32_t IntOr(const YAML::Node& node, std::string_view field, int32_t fallback, int32_t least,
              int32_t most) {
  return node.IsDefined() && !node.IsNull() ? Int(node, field, least, most) : fallback;
}

int64_t Milli(const YAML::Node& node, std::string_view field) {
  const auto quantity = metric::Quantity::Parse(Text(node, field));
  if (!quantity) Refuse(node, field, quantity.error().message);
  if (quantity->milli() <= 0) Refuse(node, field, "must be above 0");
  return quantity->milli();
}

constexpr int32_t kMaxInt = std::numeric_limits<int32_t>::max();

hpa::ScalingRules ReadRules(const YAML::Node& node, const std::string& field,
                            hpa::ScalingRules rules) {
  if (!node.IsDefined() || node.IsNull()) return rules;
  if (const YAML::Node window = node["stabilizationWindowSeconds"]) {
    rules.stabilization_window_seconds =
        Int(window, field + ".stabilizationWindowSeconds", 0, 3600);
  }
  if (const YAML::Node select = node["selectPolicy"]) {
    const std::string name = Text(select, field + ".selectPolicy");
    if (name == "Max") {
      rules.select = hpa::SelectPolicy::kMax;
    } else if (name == "Min") {
      rules.select = hpa::SelectPolicy::kMin;
    } else if (name == "Disabled") {
      rules.select = hpa::SelectPolicy::kDisabled;
    } else {
      Refuse(select, field + ".selectPolicy", "is Max, Min or Disabled");
    }
  }
  if (const YAML::Node tolerance = node["tolerance"]) {
    rules.tolerance = static_cast<double>(Milli(tolerance, field + ".tolerance")) / 1000;
  }
  const YAML::Node policies = node["policies"];
  if (!policies.IsDefined() || policies.IsNull()) return rules;
  if (!policies.IsSequence() || policies.size() == 0) {
    Refuse(policies, field + ".policies", "must have at least one policy");
  }
  rules.policies.clear();
  for (const YAML::Node& policy : policies) {
    const std::string type = Text(policy["type"], field + ".policies.type");
    if (type != "Pods" && type != "Percent") {
      Refuse(policy["type"], field + ".policies.type", "is Pods or Percent");
    }
    rules.policies.push_back(
        {type == "Pods" ? hpa::PolicyType::kPods : hpa::PolicyType::kPercent,
         Int(policy["value"], field + ".policies.value", 1, kMaxInt),
         Int(policy["periodSeconds"], field + ".policies.periodSeconds", 1, 1800)});
  }
  return rules;
}

std::optional<hpa::Behavior> ReadBehavior(const YAML::Node& node) {
  if (!node.IsDefined() || node.IsNull()) return std::nullopt;
  return hpa::Behavior{
      ReadRules(node["scaleUp"], "behavior.scaleUp", hpa::ScalingRules::DefaultUp()),
      ReadRules(node["scaleDown"], "behavior.scaleDown", hpa::ScalingRules::DefaultDown())};
}

void ReadTarget(const YAML::Node& target, const std::string& field, hpa::MetricSpec* out) {
  const std::string type = Text(target["type"], field + ".type");
  if (type == "Value") {
    out->target_type = hpa::TargetType::kValue;
    out->target = Milli(target["value"], field + ".value");
  } else if (type == "AverageValue") {
    out->target_type = hpa::TargetType::kAverageValue;
    out->target = Milli(target["averageValue"], field + ".averageValue");
  } else if (type == "Utilization") {
    out->target_type = hpa::TargetType::kUtilization;
    out->target = Int(target["averageUtilization"], field + ".averageUtilization", 1, kMaxInt);
  } else {
    Refuse(target["type"], field + ".type", "is Value, AverageValue or Utilization");
  }
}

hpa::MetricSpec ReadMetric(const YAML::Node& node, size_t index) {
  const std::string at = fmt::format("spec.metrics[{}]", index);
  const std::string type = Text(node["type"], at + ".type");
  constexpr std::pair<std::string_view, hpa::MetricType> kTypes[] = {
      {"Pods", hpa::MetricType::kPods},
      {"Object", hpa::MetricType::kObject},
      {"External", hpa::MetricType::kExternal},
      {"Resource", hpa::MetricType::kResource}};
  constexpr std::string_view kMembers[] = {"pods", "object", "external", "resource"};
  for (const auto& [name, kind] : kTypes) {
    if (name != type) continue;
    const std::string member(kMembers[static_cast<size_t>(kind)]);
    const std::string field = fmt::format("{}.{}", at, member);
    const YAML::Node source = node[member];
    if (!source.IsDefined()) Refuse(node, field, "must be given");
    hpa::MetricSpec out{.type = kind};
    out.name = kind == hpa::MetricType::kResource
                   ? Text(source["name"], field + ".name")
                   : Text(source["metric"]["name"], field + ".metric.name");
    ReadTarget(source["target"], field + ".target", &out);
    if (kind == hpa::MetricType::kPods && out.target_type != hpa::TargetType::kAverageValue) {
      Refuse(source["target"], at + ".pods.target.type", "must be AverageValue");
    }
    return out;
  }
  Refuse(node["type"], at + ".type", "is Pods, Object, External or Resource here");
}

void CheckReplicas(const YAML::Node& spec, const hpa::HpaSpec& hpa, std::string_view min_field,
                   std::string_view max_field) {
  if (hpa.max_replicas < hpa.min_replicas) {
    Refuse(spec[std::string(max_field)], std::string("spec.") + std::string(max_field),
           fmt::format("is {}, below {} ({})", hpa.max_replicas, min_field, hpa.min_replicas));
  }
  if (hpa.metrics.empty()) Refuse(spec, "spec", "has no metric to scale on");
}

std::string TargetName(const YAML::Node& ref) {
  const std::string kind = ref["kind"] ? ref["kind"].Scalar() : "Deployment";
  return kind + "/" + Text(ref["name"], "spec.scaleTargetRef.name");
}

ManifestHpa ReadHpa(const YAML::Node& root) {
  const YAML::Node spec = root["spec"];
  ManifestHpa out;
  out.target = TargetName(spec["scaleTargetRef"]);
  out.spec.min_replicas = IntOr(spec["minReplicas"], "spec.minReplicas", 1, 0, kMaxInt);
  out.spec.max_replicas = Int(spec["maxReplicas"], "spec.maxReplicas", 1, kMaxInt);
  size_t index = 0;
  for (const YAML::Node& metric : spec["metrics"]) {
    out.spec.metrics.push_back(ReadMetric(metric, index++));
  }
  out.spec.behavior = ReadBehavior(spec["behavior"]);
  CheckReplicas(spec, out.spec, "minReplicas", "maxReplicas");
  return out;
}

ManifestHpa ReadScaledObject(const YAML::Node& root) {
  const YAML::Node spec = root["spec"];
  ManifestHpa out;
  out.target = TargetName(spec["scaleTargetRef"]);
  out.spec.min_replicas = IntOr(spec["minReplicaCount"], "spec.minReplicaCount", 0, 0, kMaxInt);
  // KEDA itself goes from 0 to 1 and back; its HPA never has a minimum of 0.
  out.spec.min_replicas = std::max(1, out.spec.min_replicas);
  out.spec.max_replicas = IntOr(spec["maxReplicaCount"], "spec.maxReplicaCount", 100, 1, kMaxInt);
  const int32_t polling = IntOr(spec["pollingInterval"], "spec.pollingInterval", 30, 1, kMaxInt);
  size_t index = 0;
  for (const YAML::Node& trigger : spec["triggers"]) {
    const std::string at = fmt::format("spec.triggers[{}]", index++);
    hpa::MetricSpec metric{.type = hpa::MetricType::kExternal};
    const YAML::Node metadata = trigger["metadata"];
    metric.name = Text(trigger["type"], at + ".type");
    metric.target = Milli(metadata["threshold"], at + ".metadata.threshold");
    const std::string type =
        trigger["metricType"] ? Text(trigger["metricType"], at + ".metricType") : "AverageValue";
    if (type != "AverageValue" && type != "Value") {
      Refuse(trigger["metricType"], at + ".metricType", "is AverageValue or Value here");
    }
    if (type == "Value") metric.target_type = hpa::TargetType::kValue;
    if (trigger["useCachedMetrics"] && trigger["useCachedMetrics"].as<bool>(false)) {
      out.polling_seconds = polling;
    }
    out.spec.metrics.push_back(std::move(metric));
  }
  const YAML::Node advanced = spec["advanced"];
  if (advanced.IsDefined() && advanced["horizontalPodAutoscalerConfig"].IsDefined()) {
    out.spec.behavior = ReadBehavior(advanced["horizontalPodAutoscalerConfig"]["behavior"]);
  }
  CheckReplicas(spec, out.spec, "minReplicaCount", "maxReplicaCount");
  return out;
}

std::optional<ManifestHpa> ReadDocument(const YAML::Node& root) {
  if (!root.IsMap() || !root["kind"]) return std::nullopt;
  const std::string kind = Text(root["kind"], "kind");
  ManifestHpa out;
  if (kind == "HorizontalPodAutoscaler") {
    const std::string version = Text(root["apiVersion"], "apiVersion");
    if (version != "autoscaling/v2") {
      Refuse(root["apiVersion"], "apiVersion", "is " + version + "; convert it to autoscaling/v2");
    }
    out = ReadHpa(root);
  } else if (kind == "ScaledObject") {
    out = ReadScaledObject(root);
  } else {
    return std::nullopt;
  }
  const YAML::Node metadata = root["metadata"];
  if (metadata.IsMap()) {
    out.name = metadata["name"] ? metadata["name"].Scalar() : "";
    out.ns = metadata["namespace"] ? metadata["namespace"].Scalar() : "default";
  }
  return out;
}

}  // namespace

base::Result<ManifestHpa> ReadManifest(std::string_view yaml) {
  const auto fail = [](std::string message) {
    return base::Fail(base::Code::kInvalidArgument, std::move(message));
  };
  try {
    for (const YAML::Node& root : YAML::LoadAll(std::string(yaml))) {
      if (auto found = ReadDocument(root)) return *std::move(found);
    }
  } catch (const Refused& refused) {
    return fail(refused.message);
  } catch (const YAML::Exception& error) {
    return fail(fmt::format("line {}: {}", error.mark.line + 1, error.msg));
  }
  return fail("no HorizontalPodAutoscaler or ScaledObject among the documents");
}

}  // namespace activescale::sim
