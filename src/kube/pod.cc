#include "kube/pod.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "kube/json.h"

namespace activescale::kube {
namespace {

namespace json = boost::json;

PodPhase ParsePhase(std::string_view text) {
  if (text == "Running") return PodPhase::kRunning;
  if (text == "Pending") return PodPhase::kPending;
  if (text == "Succeeded") return PodPhase::kSucceeded;
  if (text == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnknown;
}

void AddIp(std::string_view text, std::vector<IpAddress>& ips) {
  const auto ip = IpAddress::Parse(text);
  if (ip && std::ranges::find(ips, *ip) == ips.end()) ips.push_back(*ip);
}

void ParseReadiness(const json::object& object, Pod& pod) {
  const json::array* conditions = FindArray(object, {"status", "conditions"});
  if (conditions == nullptr) return;
  for (const json::value& value : *conditions) {
    const json::object* condition = value.if_object();
    if (condition == nullptr || FindString(*condition, {"type"}) != "Ready") continue;
    pod.ready = FindString(*condition, {"status"}) == "True";
    if (pod.ready) pod.ready_since = ParseTime(FindString(*condition, {"lastTransitionTime"}));
  }
}

}  // namespace

metric::Labels ParseLabels(const json::object& object) {
  std::vector<metric::Labels::Entry> entries;
  if (const json::object* labels = FindObject(object, {"metadata", "labels"})) {
    entries.reserve(labels->size());
    for (const auto& [key, value] : *labels) {
      if (!value.is_string()) continue;
      entries.emplace_back(std::string_view(key), std::string_view(value.get_string()));
    }
  }
  return metric::Labels(std::move(entries));
}

std::optional<base::WallTime> ParseTime(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (text.size() <= kForm.size() || text.back() != 'Z') return std::nullopt;
  for (size_t i = 0; i < kForm.size(); ++i) {
    const bool fits = kForm[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == kForm[i];
    if (!fits) return std::nullopt;
  }
  const auto number = [text](size_t at, size_t length) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + length, value);
    return value;
  };
  const std::chrono::year_month_day date(std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2))));
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(number(11, 2)) +
         std::chrono::minutes(number(14, 2)) + std::chrono::seconds(number(17, 2));
}

OwnerRef ParseOwner(const json::object& object) {
  const json::array* owners = FindArray(object, {"metadata", "ownerReferences"});
  if (owners == nullptr) return {};
  for (const json::value& value : *owners) {
    const json::object* owner = value.if_object();
    if (owner == nullptr) continue;
    const json::value* controller = owner->if_contains("controller");
    if (controller == nullptr || !controller->is_bool() || !controller->get_bool()) continue;
    const std::string_view version = FindString(*owner, {"apiVersion"});
    const size_t slash = version.find('/');
    return {.name = std::string(FindString(*owner, {"name"})),
            .group = std::string(slash == std::string_view::npos ? "" : version.substr(0, slash)),
            .kind = std::string(FindString(*owner, {"kind"}))};
  }
  return {};
}

FieldMask PodMask() {
  return {"metadata.name",
          "metadata.namespace",
          "metadata.labels",
          "metadata.deletionTimestamp",
          "metadata.creationTimestamp",
          "metadata.ownerReferences.apiVersion",
          "metadata.ownerReferences.kind",
          "metadata.ownerReferences.name",
          "metadata.ownerReferences.controller",
          "status.phase",
          "status.podIP",
          "status.podIPs.ip",
          "status.conditions.type",
          "status.conditions.status",
          "status.conditions.lastTransitionTime"};
}

Pod ParsePod(const json::object& object) {
  Pod pod;
  pod.ns = FindString(object, {"metadata", "namespace"});
  pod.name = FindString(object, {"metadata", "name"});
  pod.labels = ParseLabels(object);
  pod.owner = ParseOwner(object);
  AddIp(FindString(object, {"status", "podIP"}), pod.ips);
  if (const json::array* ips = FindArray(object, {"status", "podIPs"})) {
    for (const json::value& value : *ips) {
      if (const json::object* ip = value.if_object()) AddIp(FindString(*ip, {"ip"}), pod.ips);
    }
  }
  pod.phase = ParsePhase(FindString(object, {"status", "phase"}));
  pod.terminating = !FindString(object, {"metadata", "deletionTimestamp"}).empty();
  pod.created =
      ParseTime(FindString(object, {"metadata", "creationTimestamp"})).value_or(base::WallTime());
  ParseReadiness(object, pod);
  return pod;
}

}  // namespace activescale::kube
