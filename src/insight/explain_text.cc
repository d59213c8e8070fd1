#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "insight/explain.h"

namespace activescale::insight {
namespace {

std::string Plain(int64_t milli) { return fmt::format("{:g}", static_cast<double>(milli) / 1000); }

std::string TargetText(const hpa::MetricSpec& spec) {
  constexpr std::string_view kTypes[] = {"Value", "AverageValue", "Utilization"};
  return fmt::format("target {} ({})", Amount(spec, spec.target),
                     kTypes[static_cast<size_t>(spec.target_type)]);
}

std::string HeaderText(const Snapshot& snapshot, const Explanation& explained) {
  const kube::HpaObject& hpa = snapshot.hpa;
  const int32_t current = snapshot.seen.spec_replicas;
  const NextSync& next = explained.next;
  std::string out = fmt::format(
      "hpa/{}/{}, {}/{}, {} to {} replicas, as seen {}\n"
      "{} replicas asked for, {} reported, {} pods match\n",
      hpa.ns, hpa.name, hpa.target.kind, hpa.target.name, hpa.spec.min_replicas,
      hpa.spec.max_replicas, TimeText(snapshot.taken_at), current, snapshot.seen.status_replicas,
      snapshot.seen.pods.size());
  const std::string verb = next.replicas == current ? fmt::format("keeps {}", current)
                                                    : fmt::format("makes it {}", next.replicas);
  return out + fmt::format("The next sync {}{}: {}.\n", next.certain ? "" : "most likely ", verb,
                           next.why);
}

std::string MetricText(const Snapshot& snapshot, const Explanation& explained, size_t index) {
  const ExplainedMetric& metric = explained.metrics[index];
  const hpa::MetricSpec& spec = snapshot.hpa.spec.metrics[index];
  std::string out = fmt::format("\nMetric {}: {}, {}\n", index + 1, metric.title, TargetText(spec));
  size_t width = 3;
  for (const CountedPod& pod : metric.pods) width = std::max(width, pod.name.size());
  if (!metric.pods.empty()) {
    out += fmt::format("  {:<{}}  {:>10}  counted as\n", "pod", width, "value");
  }
  for (const CountedPod& pod : metric.pods) {
    out += fmt::format("  {:<{}}  {:>10}  {}{}\n", pod.name, width,
                       pod.value_milli ? Plain(*pod.value_milli) : "-", CountedName(pod.counted),
                       pod.why.empty() ? "" : ": " + pod.why);
  }
  if (metric.proposal.error) return out + fmt::format("  invalid: {}\n", *metric.proposal.error);
  return out + fmt::format("  {}\n  proposes {}{}\n", metric.how, metric.proposal.replicas,
                           explained.decision.winner == static_cast<int>(index) &&
                                   explained.metrics.size() > 1
                               ? ", the most: it wins"
                               : "");
}

std::string DecisionText(const Explanation& explained) {
  const hpa::Decision& decision = explained.decision;
  if (!decision.normalized) return {};
  const hpa::Normalized& after = *decision.normalized;
  std::string out = fmt::format("\nDecision\n  the metrics ask for {}\n", decision.proposed);
  if (after.stabilized != decision.proposed) {
    out += fmt::format("  stabilization makes it {} ({})\n", after.stabilized,
                       hpa::StabilizationName(after.stabilization));
  }
  if (after.replicas != after.stabilized) {
    out += fmt::format("  limits make it {} ({})\n", after.replicas, hpa::LimitName(after.limit));
  }
  if (explained.next.replicas != decision.replicas) {
    out += fmt::format("  held back, as it seems, at {}\n", explained.next.replicas);
  }
  return out;
}

std::string HistoryText(const Snapshot& snapshot) {
  std::string out = "\nWhat the controller said\n";
  for (const kube::Condition& condition : snapshot.hpa.conditions) {
    out += fmt::format("  {} {} since {}: {}, {}\n", condition.type, condition.status,
                       condition.since, condition.reason, condition.message);
  }
  if (snapshot.hpa.conditions.empty()) out += "  nothing yet: it has not synced this HPA\n";
  constexpr size_t kShown = 5;
  const size_t first = snapshot.rescales.size() > kShown ? snapshot.rescales.size() - kShown : 0;
  for (size_t i = first; i < snapshot.rescales.size(); ++i) {
    const PastRescale& past = snapshot.rescales[i];
    out += fmt::format("  {} rescaled to {}: {}\n", TimeText(past.at), past.replicas, past.reason);
  }
  return out;
}

/// What was done before the controller looked.
std::string AheadText(const Snapshot& snapshot) {
  if (snapshot.ahead.empty() && snapshot.steps.empty()) return {};
  std::string out = "\nSteps ahead of the controller\n";
  out += snapshot.ahead.empty()
             ? "  the HPA does not ask for them any more\n"
             : fmt::format("  the HPA asks for them: activescale.io/scale-ahead is \"{}\"\n",
                           snapshot.ahead);
  constexpr size_t kShown = 5;
  const size_t first = snapshot.steps.size() > kShown ? snapshot.steps.size() - kShown : 0;
  for (size_t i = first; i < snapshot.steps.size(); ++i) {
    const AheadEvent& step = snapshot.steps[i];
    out += fmt::format("  {} {}: {}\n", TimeText(step.at), step.reason, step.note);
  }
  return out;
}

/// "6 to 7.5", "above 6.4": bounds in the unit of the target.
std::string RangeText(const hpa::MetricSpec& spec, const Range& range) {
  if (range.least == range.most) return Amount(spec, range.least);
  return fmt::format("{} to {}", Amount(spec, range.least), Amount(spec, range.most));
}

std::string ReachText(const Snapshot& snapshot, const Explanation& explained) {
  if (!explained.reach) return {};
  const Reach& reach = *explained.reach;
  const hpa::HpaSpec& hpa = snapshot.hpa.spec;
  const int32_t current = snapshot.seen.spec_replicas;
  std::string out = fmt::format("\nTo reach {} replicas\n", reach.wanted);
  if (reach.wanted > hpa.max_replicas) {
    out += fmt::format("  maxReplicas is {}\n", hpa.max_replicas);
  } else if (reach.wanted < hpa.min_replicas) {
    out += fmt::format("  minReplicas is {}\n", hpa.min_replicas);
  }
  if (explained.metrics.size() > 1) {
    out += reach.wanted > current ? "  one of these is enough, if no other metric asks for more\n"
                                  : "  no metric may ask for more, and none may be invalid\n";
  }
  for (size_t i = 0; i < reach.metrics.size(); ++i) {
    const hpa::MetricSpec& spec = hpa.metrics[i];
    const bool per_pod =
        spec.type == hpa::MetricType::kPods || spec.type == hpa::MetricType::kResource;
    out += fmt::format("  {}:", kube::MetricTitle(spec, snapshot.hpa.sources[i]));
    if (const auto& value = reach.metrics[i].value) {
      out += fmt::format(" {} of {}", per_pod ? "a mean" : "a total", RangeText(spec, *value));
    }
    if (const auto& target = reach.metrics[i].target) {
      out += fmt::format("{} a target of {} instead of {}", reach.metrics[i].value ? ", or" : "",
                         RangeText(spec, *target), Amount(spec, spec.target));
    }
    const bool nothing = !reach.metrics[i].value && !reach.metrics[i].target;
    out += nothing ? " cannot propose exactly that\n" : "\n";
  }
  if (reach.limit != reach.wanted) {
    out += fmt::format("  its limits let the next sync go to {} at most\n", reach.limit);
  }
  return out;
}

}  // namespace

std::string ExplanationText(const Snapshot& snapshot, const Explanation& explained) {
  std::string out = HeaderText(snapshot, explained);
  for (size_t i = 0; i < explained.metrics.size(); ++i) {
    out += MetricText(snapshot, explained, i);
  }
  out += DecisionText(explained);
  out += HistoryText(snapshot);
  out += AheadText(snapshot);
  if (!explained.notes.empty()) out += "\nNotes\n";
  for (const std::string& note : explained.notes) out += "  - " + note + "\n";
  out += ReachText(snapshot, explained);
  return out +
         "\nAssumed: the controller runs with its defaults (tolerance 0.1, scale-down window 300 "
         "s), "
         "which no API tells.\n";
}

}  // namespace activescale::insight
