#include "insight/notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace activescale::insight {
namespace {

/// Collects the notes on one explanation.
class Notes {
 public:
  Notes(const Snapshot& snapshot, const Explanation& explained,
        const hpa::ControllerOptions& options)
      : snapshot_(snapshot), explained_(explained), options_(options) {}

  std::vector<std::string> Take() && {
    OnSelector();
    OnInvalidMetrics();
    OnDisagreement();
    OnOwners();
    OnSurplusPods();
    OnMissingPods();
    OnCrashLoops();
    OnValueTargets();
    OnMaximum();
    return std::move(notes_);
  }

 private:
  template <typename... Arguments>
  void Add(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    notes_.push_back(fmt::format(text, std::forward<Arguments>(arguments)...));
  }

  void OnSelector();
  void OnInvalidMetrics();
  void OnDisagreement();
  void OnOwners();
  void OnSurplusPods();
  void OnMissingPods();
  void OnCrashLoops();
  void OnValueTargets();
  void OnMaximum();

  const Snapshot& snapshot_;
  const Explanation& explained_;
  const hpa::ControllerOptions& options_;
  std::vector<std::string> notes_;
};

void Notes::OnSelector() {
  const std::string_view fault = snapshot_.seen.selector_fault;
  if (fault == "InvalidSelector") {
    Add("The scale of {}/{} has no selector, so the controller cannot tell its pods and looks at "
        "no "
        "metric.",
        snapshot_.hpa.target.kind, snapshot_.hpa.target.name);
  } else if (!fault.empty()) {
    const kube::Condition* active = snapshot_.hpa.FindCondition("ScalingActive");
    Add("The controller looks at no metric, because more than one HPA scales these pods: {}. Leave "
        "one HPA to a workload, or give the workloads selectors of their own.",
        active->message);
  }
}

void Notes::OnInvalidMetrics() {
  std::vector<std::string> invalid;
  int32_t most = 0;
  for (size_t i = 0; i < explained_.metrics.size(); ++i) {
    const ExplainedMetric& metric = explained_.metrics[i];
    if (!metric.proposal.error) {
      most = std::max(most, metric.proposal.replicas);
      continue;
    }
    invalid.push_back(metric.title);
    if (snapshot_.denied[i]) {
      Add("{} was refused to you, not to the controller, which asks with rights of its own: this "
          "explanation lacks that metric.",
          metric.title);
    }
  }
  if (invalid.empty()) return;
  const int32_t current = snapshot_.seen.spec_replicas;
  if (invalid.size() == explained_.metrics.size()) {
    Add("No metric can be used, so the controller keeps the {} replicas it finds.", current);
  } else if (explained_.decision.failed) {
    Add("{} cannot be used. While any metric is invalid the controller scales out but never in: "
        "the "
        "others ask for {}, fewer than the {} there are, so it keeps {}. It does not write "
        "status.currentMetrics either: what kubectl shows is frozen at the last good sync. Bring "
        "the "
        "metric back or take it out of the HPA.",
        fmt::join(invalid, ", "), most, current, current);
  } else {
    Add("{} cannot be used. The other metrics do not ask for fewer replicas than there are, so the "
        "controller goes by them; it will not scale in until every metric is back.",
        fmt::join(invalid, ", "));
  }
}

void Notes::OnDisagreement() {
  const kube::Condition* active = snapshot_.hpa.FindCondition("ScalingActive");
  if (active == nullptr || active->status != "False" || !snapshot_.seen.selector_fault.empty()) {
    return;
  }
  if (explained_.decision.failed || explained_.decision.active_reason == active->reason) return;
  Add("At its last sync the controller could not compute replicas ({}: {}), while all was there "
      "when "
      "this was read. If that stays so, compare the controller's rights and network with yours.",
      active->reason, active->message);
}

void Notes::OnOwners() {
  std::map<std::string, std::vector<std::string>> by_owner;
  for (size_t i = 0; i < snapshot_.facts.size(); ++i) {
    by_owner[snapshot_.facts[i].owner].push_back(snapshot_.seen.pods[i].name);
  }
  if (by_owner.size() < 2) return;
  std::vector<std::string> parts;
  parts.reserve(by_owner.size());
  for (const auto& [owner, pods] : by_owner) {
    parts.push_back(fmt::format("{} of {}", pods.size(), owner.empty() ? "no owner" : owner));
  }
  Add("The selector of {}/{} spans owners: it matches {} pods. The controller counts them all: "
      "their "
      "values, and pods without a value too. Give the workloads labels that differ.",
      snapshot_.hpa.target.kind, snapshot_.hpa.target.name, fmt::join(parts, ", "));
}

void Notes::OnSurplusPods() {
  std::vector<std::string> finished;
  for (size_t i = 0; i < snapshot_.facts.size(); ++i) {
    if (snapshot_.facts[i].finished) finished.push_back(snapshot_.seen.pods[i].name);
  }
  if (!finished.empty()) {
    Add("Finished (Succeeded) but still there, so the controller waits for their values: {}. "
        "Delete "
        "them, or keep their labels out of the selector.",
        fmt::join(finished, ", "));
  }
  const auto alive = std::ranges::count_if(snapshot_.seen.pods, [](const hpa::Pod& pod) {
    return !pod.deleting && pod.phase != hpa::PodPhase::kFailed;
  });
  if (alive > snapshot_.seen.spec_replicas && snapshot_.seen.spec_replicas > 0) {
    Add("There are {} pods for {} replicas, as during a rolling update. A metric of pods "
        "multiplies "
        "its ratio by the pods, not by the replicas, so that the surplus can add replicas while "
        "the "
        "ratio is outside of the tolerance.",
        alive, snapshot_.seen.spec_replicas);
  }
}

void Notes::OnMissingPods() {
  for (const ExplainedMetric& metric : explained_.metrics) {
    if (metric.proposal.error || metric.proposal.pods.missing.empty()) continue;
    const size_t missing = metric.proposal.pods.missing.size();
    if (metric.proposal.ratio < 1) {
      Add("{}: {} {} without a value. The others ask for fewer replicas, so {} as if exactly at "
          "the "
          "target, which holds scaling in back. A new pod whose Envoy has connected counts with "
          "its "
          "0; one that never pushed is missing.",
          metric.title, missing, missing == 1 ? "pod is" : "pods are",
          missing == 1 ? "it counts" : "they count");
    } else if (metric.proposal.ratio > 1) {
      Add("{}: {} {} without a value. The others ask for more replicas, so {} as idle, which holds "
          "scaling out back.",
          metric.title, missing, missing == 1 ? "pod is" : "pods are",
          missing == 1 ? "it counts" : "they count");
    }
  }
}

void Notes::OnCrashLoops() {
  std::vector<std::string> loops;
  for (size_t i = 0; i < snapshot_.facts.size(); ++i) {
    if (snapshot_.facts[i].crash_loops) loops.push_back(snapshot_.seen.pods[i].name);
  }
  if (loops.empty()) return;
  Add("In a crash loop: {}. They take no load, so the load of the others stays high and each sync "
      "may "
      "add pods that crash too, up to maxReplicas ({}). Repair them first; "
      "behavior.scaleUp.policies "
      "bound how fast that goes.",
      fmt::join(loops, ", "), snapshot_.hpa.spec.max_replicas);
}

void Notes::OnValueTargets() {
  for (size_t i = 0; i < explained_.metrics.size(); ++i) {
    const hpa::MetricSpec& spec = snapshot_.hpa.spec.metrics[i];
    if (spec.target_type != hpa::TargetType::kValue || explained_.metrics[i].proposal.error) {
      continue;
    }
    hpa::MetricSpec average = spec;
    average.target_type = hpa::TargetType::kAverageValue;
    const hpa::Proposal other =
        hpa::ProposeReplicas({.spec = average,
                              .answer = snapshot_.seen.answers[i],
                              .pods = snapshot_.seen.pods,
                              .spec_replicas = snapshot_.seen.spec_replicas,
                              .status_replicas = snapshot_.seen.status_replicas,
                              .tolerance = explained_.tolerance,
                              .now = snapshot_.taken_at,
                              .options = options_});
    if (other.replicas == explained_.metrics[i].proposal.replicas) continue;
    Add("{} has a target of type Value: each sync multiplies the replicas by value / target. "
        "Shared "
        "out, as AverageValue, the same target would propose {}.",
        explained_.metrics[i].title, other.replicas);
  }
}

void Notes::OnMaximum() {
  const bool at_most = snapshot_.seen.spec_replicas == snapshot_.hpa.spec.max_replicas;
  if (at_most && explained_.decision.proposed > snapshot_.hpa.spec.max_replicas) {
    Add("The HPA is at maxReplicas ({}) and its metrics ask for {}.",
        snapshot_.hpa.spec.max_replicas, explained_.decision.proposed);
  }
}

}  // namespace

std::vector<std::string> NotesOn(const Snapshot& snapshot, const Explanation& explained,
                                 const hpa::ControllerOptions& options) {
  return Notes(snapshot, explained, options).Take();
}

}  // namespace activescale::insight
