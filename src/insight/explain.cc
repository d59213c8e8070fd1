#include "insight/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "insight/notes.h"

namespace activescale::insight {
namespace {

using hpa::MetricType;
using hpa::TargetType;

/// Of the controller's flags its defaults; of its gates what the HPA itself shows.
hpa::ControllerOptions OptionsFor(const Snapshot& snapshot) {
  // Without the gate, kube-apiserver takes no minReplicas of 0.
  return {.scale_to_zero = snapshot.hpa.spec.min_replicas == 0};
}

/// What events tell of the controller's memory: each change, and that at its moment at least that
/// many replicas were recommended.
hpa::ScaleHistory VisibleHistory(const Snapshot& snapshot, const hpa::ControllerOptions& options) {
  const hpa::HpaSpec& spec = snapshot.hpa.spec;
  hpa::ScaleHistory history;
  // A history that is empty would take the present count for a recommendation.
  history.Begin(snapshot.seen.spec_replicas, snapshot.taken_at - std::chrono::hours(48));
  int32_t before = -1;
  for (const PastRescale& past : snapshot.rescales) {
    if (before >= 0 && before != past.replicas) {
      static_cast<void>(history.Normalize(spec, options, before, past.replicas, past.at));
      history.RecordScale(spec, before, past.replicas, past.at);
    }
    before = past.replicas;
  }
  return history;
}

std::string_view PhaseName(hpa::PodPhase phase) {
  constexpr std::array<std::string_view, 5> kNames = {"Pending", "Running", "Succeeded", "Failed",
                                                      "Unknown"};
  return kNames[static_cast<size_t>(phase)];
}

/// Sorts the pods of one metric into the ways they counted.
class PodCounter {
 public:
  PodCounter(const Snapshot& snapshot, size_t index, const hpa::Proposal& proposal)
      : snapshot_(snapshot),
        spec_(snapshot.hpa.spec.metrics[index]),
        answer_(snapshot.seen.answers[index]),
        proposal_(proposal) {}

  [[nodiscard]] std::vector<CountedPod> Count() const {
    std::vector<CountedPod> out;
    const bool per_pod = spec_.type == MetricType::kPods || spec_.type == MetricType::kResource;
    if (!per_pod && proposal_.pods.counted.empty() && proposal_.pods.ignored.empty()) return out;
    for (const hpa::Pod& pod : snapshot_.seen.pods) out.push_back(CountOne(pod, per_pod));
    return out;
  }

 private:
  static bool Has(const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  }

  [[nodiscard]] CountedPod CountOne(const hpa::Pod& pod, bool per_pod) const {
    CountedPod out{.name = pod.name, .value_milli = std::nullopt, .why = {}};
    const auto sample = answer_.by_pod.find(pod.name);
    if (sample != answer_.by_pod.end()) out.value_milli = sample->second.value_milli;
    const bool up = proposal_.ratio > 1;
    if (Has(proposal_.pods.counted, pod.name)) {
      out.counted = per_pod ? Counted::kAsValue : Counted::kAsReady;
    } else if (Has(proposal_.pods.missing, pod.name)) {
      out.why = "has no value";
      if (proposal_.ratio < 1) out.counted = Counted::kAsTarget;
      if (up) out.counted = Counted::kAsIdle;
    } else if (Has(proposal_.pods.unready, pod.name)) {
      const bool pending = pod.phase == hpa::PodPhase::kPending;
      out.why = pending ? "is Pending" : "is not ready or too young for its CPU to count";
      if (up) out.counted = Counted::kAsIdle;
    } else if (pod.deleting) {
      out.why = "is being deleted";
    } else {
      out.why = pod.phase == hpa::PodPhase::kRunning ? "is not Ready"
                                                     : fmt::format("is {}", PhaseName(pod.phase));
    }
    if (proposal_.error) out.counted = Counted::kNotCounted;
    return out;
  }

  const Snapshot& snapshot_;
  const hpa::MetricSpec& spec_;
  const hpa::MetricAnswer& answer_;
  const hpa::Proposal& proposal_;
};

std::string Within(const hpa::Tolerance& tolerance) {
  return fmt::format("{:.4g} to {:.4g}", 1 - tolerance.down, 1 + tolerance.up);
}

/// The way from the pods' values to the proposal.
std::string HowFromPods(const hpa::MetricSpec& spec, const hpa::Proposal& proposal,
                        const hpa::Tolerance& tolerance, int32_t current) {
  const size_t counted = proposal.pods.counted.size();
  std::string out =
      spec.target_type == TargetType::kUtilization
          ? fmt::format("{:.0f} % of the requests / target {} %",
                        proposal.ratio * static_cast<double>(spec.target), spec.target)
          : fmt::format("mean {} of {} pods / target {}", Amount(spec, proposal.usage_milli),
                        counted, Amount(spec, spec.target));
  out += fmt::format(" = ratio {:.4g}", proposal.ratio);
  const bool unready_join = !proposal.pods.unready.empty() && proposal.ratio > 1;
  const bool adjusted = unready_join || !proposal.pods.missing.empty();
  size_t pods = counted;
  if (adjusted) {
    pods += proposal.pods.missing.size() + (unready_join ? proposal.pods.unready.size() : 0);
    out += fmt::format("; with the pods that lack a value {:.4g} over {}", proposal.adjusted_ratio,
                       pods);
  }
  if (proposal.within_tolerance) {
    return out + fmt::format("; within {}: no change", Within(tolerance));
  }
  const double product = proposal.adjusted_ratio * static_cast<double>(pods);
  if (adjusted && proposal.replicas == current) {
    return out + "; that would turn against the others' direction: no change";
  }
  return out + fmt::format("; x {} pods = {:.4g}, rounded up {}", pods, product, proposal.replicas);
}

std::string HowFromTotal(const hpa::MetricSpec& spec, const hpa::MetricAnswer& answer,
                         const hpa::Proposal& proposal, const hpa::Tolerance& tolerance,
                         const Snapshot& snapshot) {
  int64_t total = proposal.usage_milli;
  if (spec.target_type == TargetType::kAverageValue) {
    total = 0;
    for (const int64_t value : answer.values) total += value;
  }
  const std::string division =
      fmt::format("{} / target {}", Amount(spec, total), Amount(spec, spec.target));
  const double quotient = static_cast<double>(total) / static_cast<double>(spec.target);
  if (spec.target_type == TargetType::kValue) {
    if (proposal.within_tolerance) {
      return fmt::format("{} = ratio {:.4g}; within {}: no change", division, quotient,
                         Within(tolerance));
    }
    if (snapshot.seen.spec_replicas == 0) {
      return fmt::format("{} = {:.4g}, rounded up {}", division, quotient, proposal.replicas);
    }
    const size_t ready = proposal.pods.counted.size();
    return fmt::format("{} = ratio {:.4g}; x {} ready pods = {:.4g}, rounded up {}", division,
                       quotient, ready, quotient * static_cast<double>(ready), proposal.replicas);
  }
  if (proposal.within_tolerance) {
    return fmt::format(
        "{} = {:.4g}, ratio {:.4g} of the {} replicas in status; within {}: no change", division,
        quotient, proposal.ratio, snapshot.seen.status_replicas, Within(tolerance));
  }
  return fmt::format("{} = {:.4g}, rounded up {}", division, quotient, proposal.replicas);
}

ExplainedMetric ExplainMetric(const Snapshot& snapshot, size_t index, const hpa::Proposal& proposal,
                              const hpa::Tolerance& tolerance) {
  const hpa::MetricSpec& spec = snapshot.hpa.spec.metrics[index];
  ExplainedMetric out{.title = kube::MetricTitle(spec, snapshot.hpa.sources[index]),
                      .proposal = proposal,
                      .pods = PodCounter(snapshot, index, proposal).Count(),
                      .how = {}};
  if (proposal.error) return out;
  const bool per_pod = spec.type == MetricType::kPods || spec.type == MetricType::kResource;
  out.how = per_pod
                ? HowFromPods(spec, proposal, tolerance, snapshot.seen.spec_replicas)
                : HowFromTotal(spec, snapshot.seen.answers[index], proposal, tolerance, snapshot);
  return out;
}

/// Whether past recommendations that nobody sees hold a change back. They can only hold: the
/// controller takes the highest recommendation of the window on the way in, the lowest on the way
/// out, and the present count is among them unless the controller was seen moving already.
std::optional<std::string> HeldBack(const Snapshot& snapshot, const hpa::Decision& decision,
                                    const hpa::ControllerOptions& options) {
  const int32_t current = snapshot.seen.spec_replicas;
  const bool down = decision.replicas < current;
  const auto& behavior = snapshot.hpa.spec.behavior;
  int64_t window = down ? options.downscale_stabilization.count() : 0;
  if (behavior) {
    window = (down ? behavior->down : behavior->up)
                 .stabilization_window_seconds.value_or(static_cast<int32_t>(window));
  }
  if (window == 0) return std::nullopt;
  const kube::Condition* limited = snapshot.hpa.FindCondition("ScalingLimited");
  const std::string_view moving = down ? "ScaleDownLimit" : "ScaleUpLimit";
  const kube::Condition* able = snapshot.hpa.FindCondition("AbleToScale");
  const bool told =
      able != nullptr && able->reason == (down ? "ScaleDownStabilized" : "ScaleUpStabilized");
  if (!told && limited != nullptr && limited->reason == moving) return std::nullopt;
  return fmt::format(
      "the controller takes the {} recommendation of the last {} s, which is in its memory "
      "alone{}; "
      "{} follows once nothing {} was recommended for that long",
      down ? "highest" : "lowest", window,
      told ? fmt::format(" (it says {} since {})", able->reason, able->since) : "",
      decision.replicas, down ? "higher" : "lower");
}

NextSync PredictNext(const Snapshot& snapshot, const hpa::Decision& decision,
                     const hpa::ControllerOptions& options) {
  const int32_t current = snapshot.seen.spec_replicas;
  NextSync out{.replicas = decision.replicas, .certain = true, .why = {}};
  if (decision.failed) {
    out.why = "without usable metrics the count stays";
  } else if (decision.active_reason == "ScalingDisabled") {
    out.why = "at 0 replicas the controller leaves a workload alone";
  } else if (decision.reason == hpa::Rescale::kAboveMax) {
    out.why = "there are more replicas than maxReplicas";
  } else if (decision.reason == hpa::Rescale::kBelowMin) {
    out.why = "there are fewer replicas than minReplicas";
  } else if (decision.replicas == current) {
    const bool held = decision.normalized && decision.normalized->stabilized != decision.proposed;
    out.why = held ? "a change that events tell of is younger than the stabilization window"
              : decision.proposed == current ? "that is what the metrics ask for"
                                             : "its limits do not let it move";
  } else if (const auto held = HeldBack(snapshot, decision, options)) {
    out = {.replicas = current, .certain = false, .why = *held};
  } else {
    out.why = decision.replicas == decision.proposed ? "that is what the metrics ask for"
                                                     : "that is as far as its limits let it go";
  }
  return out;
}

}  // namespace

std::string Amount(const hpa::MetricSpec& spec, int64_t value) {
  if (spec.target_type == TargetType::kUtilization) return fmt::format("{} %", value);
  return fmt::format("{:g}", static_cast<double>(value) / 1000);
}

std::string_view CountedName(Counted counted) {
  constexpr std::array<std::string_view, 5> kNames = {"its value", "ready", "at the target",
                                                      "idle (0)", "not counted"};
  return kNames[static_cast<size_t>(counted)];
}

Explanation Explain(const Snapshot& snapshot, std::optional<int32_t> wanted) {
  const hpa::ControllerOptions options = OptionsFor(snapshot);
  const hpa::ScaleHistory history = VisibleHistory(snapshot, options);
  const kube::Condition* zero = snapshot.hpa.FindCondition("ScaledToZero");
  hpa::Autoscaler autoscaler(options, history, zero != nullptr && zero->status == "True");
  Explanation out{
      .tolerance = hpa::ToleranceOf(snapshot.hpa.spec, options),
      .decision = autoscaler.Reconcile(snapshot.hpa.spec, snapshot.seen, snapshot.taken_at),
      .metrics = {},
      .next = {},
      .notes = {},
      .reach = std::nullopt};
  for (size_t i = 0; i < out.decision.proposals.size(); ++i) {
    out.metrics.push_back(ExplainMetric(snapshot, i, out.decision.proposals[i], out.tolerance));
  }
  out.next = PredictNext(snapshot, out.decision, options);
  out.notes = NotesOn(snapshot, out, options);
  if (wanted) out.reach = FindReach(snapshot, history, options, *wanted);
  return out;
}

}  // namespace activescale::insight
