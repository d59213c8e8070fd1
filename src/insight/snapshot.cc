#include "insight/snapshot.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/duration.h"
#include "kube/json.h"
#include "kube/pod.h"
#include "metric/quantity.h"

namespace activescale::insight {
namespace {

namespace json = boost::json;
using kube::FindObject;
using kube::FindObjects;
using kube::FindString;
using kube::FindValue;

std::unexpected<base::Error> Fail(std::string message) {
  return base::Fail(base::Code::kInvalidArgument, std::move(message));
}

int32_t Replicas(const json::object& scale, std::string_view part) {
  const json::value* value = FindValue(scale, {part, "replicas"});
  return value != nullptr && value->is_int64() ? static_cast<int32_t>(value->get_int64()) : 0;
}

/// A quantity, which JSON may hold as a text or as a number.
base::Result<int64_t> Milli(const json::value* value, std::string_view of) {
  if (value == nullptr) return Fail(fmt::format("{} has no value", of));
  const std::string text =
      value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
  const auto quantity = metric::Quantity::Parse(text);
  if (!quantity) return Fail(fmt::format("{}: {}", of, quantity.error().message));
  return quantity->milli();
}

hpa::Pod ReadPod(const json::object& object) {
  const kube::Pod pod = kube::ParsePod(object);
  hpa::Pod out{.name = pod.name,
               .phase = pod.phase,
               .deleting = pod.terminating,
               .ready = std::nullopt,
               .ready_since = {},
               .started = kube::ParseTime(FindString(object, {"status", "startTime"}))};
  for (const json::object* condition : FindObjects(object, {"status", "conditions"})) {
    if (FindString(*condition, {"type"}) != "Ready") continue;
    out.ready = FindString(*condition, {"status"}) == "True";
    out.ready_since =
        kube::ParseTime(FindString(*condition, {"lastTransitionTime"})).value_or(base::WallTime());
  }
  return out;
}

PodFacts ReadFacts(const json::object& object) {
  const kube::Pod pod = kube::ParsePod(object);
  PodFacts facts{.owner = OwnerOf(pod), .finished = pod.phase == kube::PodPhase::kSucceeded};
  for (const json::object* status : FindObjects(object, {"status", "containerStatuses"})) {
    if (FindString(*status, {"state", "waiting", "reason"}) == "CrashLoopBackOff") {
      facts.crash_loops = true;
    }
  }
  return facts;
}

/// What a pod requests of a resource, in milli-units; nothing if a container that counts has no
/// request. Source: kubernetes/kubernetes@v1.36.3:
/// pkg/controller/podautoscaler/replica_calculator.go, calculateRequests.
std::optional<int64_t> RequestOf(const json::object& pod, const std::string& resource,
                                 const std::string& container) {
  const json::object* of_pod = FindObject(pod, {"spec", "resources", "requests"});
  if (container.empty() && of_pod != nullptr && !of_pod->empty()) {
    const auto milli = Milli(of_pod->if_contains(resource), "");
    if (milli) return *milli;
  }
  std::vector<const json::object*> containers = FindObjects(pod, {"spec", "containers"});
  for (const json::object* init : FindObjects(pod, {"spec", "initContainers"})) {
    if (FindString(*init, {"restartPolicy"}) == "Always") containers.push_back(init);
  }
  int64_t sum = 0;
  bool found = container.empty();
  for (const json::object* each : containers) {
    if (!container.empty() && FindString(*each, {"name"}) != container) continue;
    const auto milli = Milli(FindValue(*each, {"resources", "requests", resource}), "");
    if (!milli) return std::nullopt;
    sum += *milli;
    found = true;
  }
  return found ? std::optional(sum) : std::nullopt;
}

/// One pod's usage of a resource, in milli-units; nothing if a container that counts has none.
std::optional<int64_t> UsageOf(const json::object& item, const std::string& resource,
                               const std::string& container) {
  std::optional<int64_t> sum;
  for (const json::object* each : FindObjects(item, {"containers"})) {
    if (!container.empty() && FindString(*each, {"name"}) != container) continue;
    const auto milli = Milli(FindValue(*each, {"usage", resource}), "");
    if (!milli) return std::nullopt;
    sum = sum.value_or(0) + *milli;
  }
  return sum;
}

hpa::PodSample SampleAt(const json::object& item, int64_t value) {
  hpa::PodSample sample{.value_milli = value};
  sample.timestamp = kube::ParseTime(FindString(item, {"timestamp"})).value_or(base::WallTime());
  if (const auto window = base::ParseDuration(FindString(item, {"window"}))) {
    sample.window = std::chrono::duration_cast<std::chrono::seconds>(*window);
  }
  return sample;
}

/// Empty answers are errors to the controller, in these words.
std::string_view NothingFrom(hpa::MetricType type) {
  switch (type) {
    case hpa::MetricType::kResource:
      return "no metrics returned from resource metrics API";
    case hpa::MetricType::kExternal:
      return "no metrics returned from external metrics API";
    default:
      return "no metrics returned from custom metrics API";
  }
}

base::Result<hpa::MetricAnswer> ReadAnswer(const json::object& answer, const hpa::MetricSpec& spec,
                                           const kube::MetricSource& source,
                                           const std::vector<const json::object*>& pods) {
  hpa::MetricAnswer out;
  if (const json::object* error = FindObject(answer, {"error"})) {
    out.error = FindString(*error, {"message"});
    return out;
  }
  const auto items = FindObjects(answer, {"items"});
  if (items.empty()) out.error = NothingFrom(spec.type);
  for (const json::object* item : items) {
    if (spec.type == hpa::MetricType::kResource) {
      const auto usage = UsageOf(*item, spec.name, source.container);
      const std::string name(FindString(*item, {"metadata", "name"}));
      if (usage) out.by_pod[name] = SampleAt(*item, *usage);
      continue;
    }
    const auto milli = Milli(item->if_contains("value"), "metric " + spec.name);
    if (!milli) return std::unexpected(milli.error());
    if (spec.type == hpa::MetricType::kPods) {
      out.by_pod[std::string(FindString(*item, {"describedObject", "name"}))] =
          SampleAt(*item, *milli);
    } else {
      out.values.push_back(*milli);
    }
  }
  if (spec.target_type == hpa::TargetType::kUtilization) {
    for (const json::object* pod : pods) {
      const auto request = RequestOf(*pod, spec.name, source.container);
      if (request)
        out.requests_milli[std::string(FindString(*pod, {"metadata", "name"}))] = *request;
    }
  }
  return out;
}

/// "New size: 5; reason: ...", as the controller writes its event SuccessfulRescale.
std::optional<PastRescale> ReadRescale(const json::object& event) {
  constexpr std::string_view kPrefix = "New size: ";
  const std::string_view message = FindString(event, {"message"});
  if (FindString(event, {"reason"}) != "SuccessfulRescale" || !message.starts_with(kPrefix)) {
    return std::nullopt;
  }
  const auto at = kube::ParseTime(FindString(event, {"lastTimestamp"}));
  if (!at) return std::nullopt;
  PastRescale out{.at = *at, .replicas = 0, .reason = {}};
  const char* const end = message.data() + message.size();
  const auto [rest, fault] = std::from_chars(message.data() + kPrefix.size(), end, out.replicas);
  if (fault != std::errc()) return std::nullopt;
  constexpr std::string_view kReason = "; reason: ";
  const std::string_view tail(rest, static_cast<size_t>(end - rest));
  if (tail.starts_with(kReason)) out.reason = tail.substr(kReason.size());
  return out;
}

/// Of the Events about steps ahead; nothing for others.
std::optional<AheadEvent> ReadAhead(const json::object& event) {
  const std::string_view reason = FindString(event, {"reason"});
  if (reason.find("ScaleAhead") == std::string_view::npos && reason != "ScaledAhead") {
    return std::nullopt;
  }
  const auto at = kube::ParseTime(FindString(event, {"eventTime"}));
  if (!at) return std::nullopt;
  return AheadEvent{*at, std::string(reason), std::string(FindString(event, {"message"}))};
}

base::Result<void> ReadAnswers(const json::object& document,
                               const std::vector<const json::object*>& pods, Snapshot* out) {
  const auto answers = FindObjects(document, {"answers"});
  const auto& metrics = out->hpa.spec.metrics;
  // Without a selector the controller asks for no metric.
  if (!out->seen.selector_fault.empty()) {
    out->seen.answers.resize(metrics.size());
    out->denied.resize(metrics.size());
    return {};
  }
  if (answers.size() != metrics.size()) {
    return Fail(fmt::format("has {} answers to {} metrics", answers.size(), metrics.size()));
  }
  for (size_t i = 0; i < metrics.size(); ++i) {
    auto answer = ReadAnswer(*answers[i], metrics[i], out->hpa.sources[i], pods);
    if (!answer) return std::unexpected(std::move(answer.error()));
    out->seen.answers.push_back(*std::move(answer));
    const json::value* status = FindValue(*answers[i], {"error", "status"});
    const bool denied = status != nullptr && status->is_int64() &&
                        (status->get_int64() == 401 || status->get_int64() == 403);
    out->denied.push_back(denied);
  }
  return {};
}

}  // namespace

std::string OwnerOf(const kube::Pod& pod) {
  if (pod.owner.kind.empty()) return {};
  for (const auto& [key, hash] : pod.labels.entries()) {
    const bool hashed = pod.owner.kind == "ReplicaSet" && key == "pod-template-hash" &&
                        pod.owner.name.ends_with("-" + hash);
    if (!hashed) continue;
    return "Deployment/" + pod.owner.name.substr(0, pod.owner.name.size() - hash.size() - 1);
  }
  return pod.owner.kind + "/" + pod.owner.name;
}

base::Result<Snapshot> ReadSnapshot(std::string_view text) {
  json::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_object()) return Fail("is not a JSON object");
  const json::object& document = value.get_object();
  if (FindString(document, {"kind"}) != kSnapshotKind) {
    return Fail(fmt::format("is no snapshot of an HPA (its kind is not {})", kSnapshotKind));
  }
  const json::object* hpa = FindObject(document, {"hpa"});
  const json::object* scale = FindObject(document, {"scale"});
  const auto taken_at = kube::ParseTime(FindString(document, {"takenAt"}));
  if (hpa == nullptr || scale == nullptr || !taken_at) {
    return Fail("lacks hpa, scale or takenAt");
  }
  auto read = kube::ReadHpa(*hpa);
  if (!read) return std::unexpected(std::move(read.error()));
  Snapshot out{.taken_at = *taken_at,
               .hpa = *std::move(read),
               .seen = {.spec_replicas = Replicas(*scale, "spec"),
                        .status_replicas = Replicas(*scale, "status"),
                        .pods = {},
                        .answers = {},
                        .selector_fault = {}},
               .facts = {},
               .denied = {},
               .rescales = {},
               .ahead = std::string(FindString(document, {"scaleAhead"})),
               .steps = {}};
  const kube::Condition* active = out.hpa.FindCondition("ScalingActive");
  if (FindString(*scale, {"status", "selector"}).empty()) {
    out.seen.selector_fault = "InvalidSelector";
  } else if (active != nullptr && active->reason == "AmbiguousSelector") {
    // Which other HPAs there are is the controller's to know; it says so.
    out.seen.selector_fault = "AmbiguousSelector";
  }
  const auto pods = FindObjects(document, {"pods"});
  for (const json::object* pod : pods) {
    out.seen.pods.push_back(ReadPod(*pod));
    out.facts.push_back(ReadFacts(*pod));
  }
  if (auto answers = ReadAnswers(document, pods, &out); !answers) {
    return std::unexpected(std::move(answers.error()));
  }
  for (const json::object* event : FindObjects(document, {"events"})) {
    if (auto rescale = ReadRescale(*event)) out.rescales.push_back(*std::move(rescale));
    if (auto step = ReadAhead(*event)) out.steps.push_back(*std::move(step));
  }
  std::ranges::sort(out.steps, {}, &AheadEvent::at);
  std::ranges::sort(out.rescales, {}, &PastRescale::at);
  return out;
}

std::string TimeText(base::WallTime time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     std::chrono::time_point_cast<std::chrono::seconds>(time));
}

}  // namespace activescale::insight
