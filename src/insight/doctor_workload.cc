#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/duration.h"
#include "insight/doctor.h"
#include "metric/metric_kind.h"

namespace activescale::insight {
namespace {

constexpr size_t kNamed = 3;  // names in a message; the rest are counted

std::string Names(const std::vector<std::string>& names) {
  if (names.size() <= kNamed) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{}, {}, {} and {} more", names[0], names[1], names[2], names.size() - kNamed);
}

class WorkloadCheck {
 public:
  WorkloadCheck(const WorkloadFacts& facts, const ReplicaSettings& settings)
      : facts_(facts),
        hpa_(facts.snapshot.hpa),
        settings_(settings),
        check_(fmt::format("HPA {}/{}", hpa_.ns, hpa_.name)) {
    for (const auto& [metric, values] : facts_.values) {
      if (!values) continue;
      for (const auto& [pod, milli] : *values) pushing_.insert(pod);
    }
  }

  Findings Run();

 private:
  void Tell(Level level, std::string message, std::string advice = {}) {
    findings_.push_back({level, check_, std::move(message), std::move(advice)});
  }
  [[nodiscard]] bool Uses(metric::MetricKind kind) const;
  /// The sum over the pods in requests or connections; nothing if it is not known.
  [[nodiscard]] std::optional<double> Total(std::string_view metric) const;

  void CheckTarget();
  void CheckOwners();
  void CheckFlush();
  void CheckPushing();
  [[nodiscard]] std::pair<std::string, std::string> WhySilent(const WorkloadPod& pod) const;
  void CheckZeros();
  void CheckZero(std::string_view metric);
  void CheckDirections();
  void CheckAnswers();
  void CheckConditions();

  const WorkloadFacts& facts_;
  const kube::HpaObject& hpa_;
  const ReplicaSettings& settings_;
  const std::string check_;
  std::set<std::string, std::less<>> pushing_;  // pods that have any of our metrics
  Findings findings_;
};

bool WorkloadCheck::Uses(metric::MetricKind kind) const {
  return std::ranges::any_of(hpa_.spec.metrics, [&](const hpa::MetricSpec& spec) {
    return spec.type == hpa::MetricType::kPods && spec.name == metric::MetricName(kind);
  });
}

std::optional<double> WorkloadCheck::Total(std::string_view metric) const {
  const auto found = facts_.values.find(metric);
  if (found == facts_.values.end() || !found->second) return std::nullopt;
  double sum = 0;
  for (const auto& [pod, milli] : *found->second) sum += static_cast<double>(milli) / 1000;
  return sum;
}

void WorkloadCheck::CheckTarget() {
  const std::string target = fmt::format("{}/{}", hpa_.target.kind, hpa_.target.name);
  if (facts_.snapshot.seen.selector_fault == "AmbiguousSelector") {
    return Tell(Level::kFailure,
                fmt::format("the pods of {} are also another HPA's, so its controller refuses both",
                            target),
                "one HPA a workload: delete the other one, or make the selectors disjoint");
  }
  if (!facts_.snapshot.seen.selector_fault.empty()) {
    return Tell(Level::kFailure, fmt::format("{} has no usable selector", target),
                "its scale subresource must give status.selector");
  }
  if (facts_.snapshot.seen.spec_replicas == 0) {
    return Tell(Level::kWarning,
                fmt::format("{} is scaled to 0, which switches the HPA off", target),
                "scale it to 1 or more; Pods metrics cannot wake it");
  }
  if (facts_.pods.empty()) {
    return Tell(Level::kFailure, fmt::format("wrong selector: that of {} matches no pod", target),
                "compare its selector with the labels of its pods");
  }
}

void WorkloadCheck::CheckOwners() {
  std::set<std::string> owners;
  for (const WorkloadPod& pod : facts_.pods) {
    owners.insert(pod.owner.empty() ? "pod " + pod.name : pod.owner);
  }
  if (owners.size() < 2) return;
  Tell(Level::kWarning,
       fmt::format("the selector takes pods of several owners: {}; all of them count",
                   Names({owners.begin(), owners.end()})),
       "give each workload a label of its own, and its selector too");
}

void WorkloadCheck::CheckFlush() {
  std::chrono::nanoseconds longest{0};
  for (const WorkloadPod& pod : facts_.pods) {
    if (pod.live && pod.sidecar.present) {
      longest = std::max(longest, pod.sidecar.flush_interval.value_or(kDefaultFlush));
    }
  }
  if (longest.count() == 0) return;
  const std::string both =
      fmt::format("its Envoys flush each {}, and the TTL is {}", base::FormatDuration(longest),
                  base::FormatDuration(settings_.ttl));
  if (3 * longest <= settings_.ttl) return Tell(Level::kOk, both);
  Tell(Level::kFailure,
       both + ": the TTL is below three flush intervals, and one late flush makes a pod missing",
       fmt::format("set --ttl={} or more, or a shorter sidecar.istio.io/statsFlushInterval",
                   base::FormatDuration(3 * longest)));
}

/// The cause and what to do.
std::pair<std::string, std::string> WorkloadCheck::WhySilent(const WorkloadPod& pod) const {
  const std::string restart = fmt::format("kubectl -n {} rollout restart {}/{}", hpa_.ns,
                                          hpa_.target.kind, hpa_.target.name);
  if (!pod.sidecar.present) {
    return {"no Istio sidecar in it, so its own Envoy decides: sink, HTTP/2, node.metadata",
            "check its bootstrap: activescale doctor --envoy-config FILE"};
  }
  if (pod.sidecar.settings.sink.empty()) {
    if (!facts_.template_settings.sink.empty()) {
      return {"not restarted since the annotation proxy.istio.io/config came to the pod template",
              restart};
    }
    if (!facts_.mesh_settings.sink.empty()) {
      return {"not restarted since MeshConfig got envoyMetricsService", restart};
    }
    return {
        "no envoyMetricsService: neither the annotation proxy.istio.io/config nor MeshConfig "
        "has it",
        "set it as in deploy/istio, then restart the pods"};
  }
  return {fmt::format("their sidecars push to {} and nothing arrives: the address, DNS, a "
                      "NetworkPolicy, mutual TLS or the identity is wrong",
                      pod.sidecar.settings.sink),
          "compare it with the Service that leads to the push port, and see the streams above"};
}

void WorkloadCheck::CheckPushing() {
  std::vector<std::string> silent;
  const WorkloadPod* first = nullptr;
  size_t live = 0;
  for (const WorkloadPod& pod : facts_.pods) {
    if (!pod.live) continue;
    ++live;
    if (pushing_.contains(pod.name)) continue;
    if (first == nullptr) first = &pod;
    silent.push_back(pod.name);
  }
  if (live == 0) return;
  for (const auto& [metric, values] : facts_.values) {
    // 404 means that nobody pushes; another error means that nobody knows.
    if (values || values.error().code == base::Code::kNotFound) continue;
    const bool denied = values.error().code == base::Code::kPermissionDenied;
    return Tell(denied ? Level::kWarning : Level::kFailure,
                fmt::format("{} does not answer through the aggregator: {}", metric,
                            values.error().message),
                denied ? "doctor needs get on pods/* in custom.metrics.k8s.io"
                       : "see the APIService above");
  }
  if (silent.empty()) return Tell(Level::kOk, fmt::format("all {} pods push", live));
  auto [cause, advice] = WhySilent(*first);
  Tell(Level::kFailure,
       fmt::format("{} of {} pods do not push ({}): {}", silent.size(), live, Names(silent), cause),
       std::move(advice));
}

void WorkloadCheck::CheckZeros() {
  for (const std::string_view metric : metric::kMetricNames) {
    if (Uses(*metric::ParseMetricKind(metric)) && Total(metric) == 0.0) CheckZero(metric);
  }
}

void WorkloadCheck::CheckZero(std::string_view metric) {
  const std::string_view stat = SampleStat(metric);
  for (const WorkloadPod& pod : facts_.pods) {
    const bool looked_at = pod.sidecar.present && pushing_.contains(pod.name);
    if (!looked_at || pod.sidecar.settings.stats.Take(stat)) continue;
    const bool restart =
        facts_.template_settings.stats.Take(stat) || facts_.mesh_settings.stats.Take(stat);
    return Tell(Level::kFailure,
                fmt::format("{} is 0 for every pod, and the stats are not included: the sidecar of "
                            "{} does not keep {}{}",
                            metric, pod.name, stat,
                            restart ? "; it was not restarted since they were" : ""),
                restart ? fmt::format("kubectl -n {} rollout restart {}/{}", hpa_.ns,
                                      hpa_.target.kind, hpa_.target.name)
                        : "set proxyStatsMatcher as in deploy/istio, then restart the pods");
  }
  Tell(Level::kOk, fmt::format("{} is 0 for every pod: nothing is in flight, or if something is, "
                               "Envoy does not keep the stat",
                               metric));
}

void WorkloadCheck::CheckDirections() {
  const bool in = Uses(metric::MetricKind::kInboundActiveRequests);
  const bool out = Uses(metric::MetricKind::kOutboundActiveRequests);
  const auto inbound = Total(metric::kMetricNames[0]);
  const auto outbound = Total(metric::kMetricNames[1]);
  if (in && out) {
    return Tell(
        Level::kWarning,
        fmt::format("it lists inbound and outbound together, and takes the larger proposal: "
                    "they are no fallback for each other{}",
                    inbound && outbound
                        ? fmt::format(" (now {:g} inbound, {:g} outbound)", *inbound, *outbound)
                        : ""),
        "keep inbound_active_requests for an application, outbound_active_requests for a "
        "gateway: docs/guide.md");
  }
  if (in == out || !inbound || !outbound) return;
  const bool other_moves = in ? *inbound == 0 && *outbound > 0 : *outbound == 0 && *inbound > 0;
  if (!other_moves) return;
  Tell(Level::kWarning,
       fmt::format("{} is 0 while {} is {:g}: the HPA follows the direction without traffic",
                   metric::kMetricNames[in ? 0 : 1], metric::kMetricNames[in ? 1 : 0],
                   in ? *outbound : *inbound),
       "choose the metric by the role of the workload: docs/guide.md");
}

void WorkloadCheck::CheckAnswers() {
  const auto& answers = facts_.snapshot.seen.answers;
  const auto works = [&](size_t i) { return !answers[i].error; };
  size_t working = 0;
  for (size_t i = 0; i < answers.size(); ++i) working += works(i) ? 1 : 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    const std::string title = kube::MetricTitle(hpa_.spec.metrics[i], hpa_.sources[i]);
    if (works(i)) {
      Tell(Level::kOk, fmt::format("{} answers through the aggregator", title));
    } else if (i < facts_.snapshot.denied.size() && facts_.snapshot.denied[i]) {
      Tell(Level::kWarning, fmt::format("{}: {}", title, *answers[i].error),
           "doctor may not read it; the HPA's controller may be allowed to");
    } else {
      Tell(Level::kFailure,
           fmt::format("{}: {}{}", title, *answers[i].error,
                       working == 0
                           ? ""
                           : "; while one metric fails, the HPA never scales in and goes on "
                             "showing the values of before"),
           "a 404 says which pods are silent or which metrics there are: docs/troubleshooting.md");
    }
  }
}

void WorkloadCheck::CheckConditions() {
  const auto said = [](const kube::Condition& condition) {
    return fmt::format("its controller said {} {} since {}: {}: {}", condition.type,
                       condition.status, condition.since, condition.reason, condition.message);
  };
  for (const std::string_view type : {"AbleToScale", "ScalingActive"}) {
    const kube::Condition* condition = hpa_.FindCondition(type);
    if (condition == nullptr) {
      Tell(Level::kWarning, fmt::format("its controller has not set {} yet", type),
           "wait for a sync (15 s); if it stays, is kube-controller-manager running?");
    } else if (condition->status == "False") {
      // What is mended shows at the next sync.
      const bool explained = WorstOf(findings_) == Level::kFailure;
      Tell(explained || type == "AbleToScale" ? Level::kFailure : Level::kWarning, said(*condition),
           "mend what is named above, then wait for the next sync");
    } else {
      Tell(Level::kOk, said(*condition));
    }
  }
  const kube::Condition* limited = hpa_.FindCondition("ScalingLimited");
  if (limited != nullptr && limited->status == "True" && limited->reason == "TooManyReplicas") {
    Tell(Level::kWarning, said(*limited), "raise maxReplicas or the target");
  }
}

Findings WorkloadCheck::Run() {
  CheckTarget();
  CheckOwners();
  if (facts_.snapshot.seen.selector_fault.empty()) {
    CheckFlush();
    CheckPushing();
    CheckZeros();
    CheckDirections();
    CheckAnswers();
  }
  CheckConditions();
  return std::move(findings_);
}

}  // namespace

Findings DiagnoseWorkload(const WorkloadFacts& facts, const ReplicaSettings& settings) {
  return WorkloadCheck(facts, settings).Run();
}

}  // namespace activescale::insight
