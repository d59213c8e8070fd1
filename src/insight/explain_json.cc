#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "insight/explain.h"

namespace activescale::insight {
namespace {

namespace json = boost::json;

double Units(int64_t milli) { return static_cast<double>(milli) / 1000; }

/// A target or a level in the unit that the manifest has: percent for a utilization.
double InTargetUnits(const hpa::MetricSpec& spec, int64_t value) {
  return spec.target_type == hpa::TargetType::kUtilization ? static_cast<double>(value)
                                                           : Units(value);
}

json::value RangeJson(const hpa::MetricSpec& spec, const std::optional<Range>& range) {
  if (!range) return nullptr;
  return json::object{{"least", InTargetUnits(spec, range->least)},
                      {"most", InTargetUnits(spec, range->most)}};
}

json::array PodsJson(const ExplainedMetric& metric) {
  json::array out;
  for (const CountedPod& pod : metric.pods) {
    json::object entry{{"name", pod.name}, {"countedAs", CountedName(pod.counted)}};
    if (pod.value_milli) entry["value"] = Units(*pod.value_milli);
    if (!pod.why.empty()) entry["why"] = pod.why;
    out.push_back(std::move(entry));
  }
  return out;
}

json::object MetricJson(const Snapshot& snapshot, const Explanation& explained, size_t index) {
  const ExplainedMetric& metric = explained.metrics[index];
  const hpa::MetricSpec& spec = snapshot.hpa.spec.metrics[index];
  constexpr std::string_view kTypes[] = {"Value", "AverageValue", "Utilization"};
  json::object out{{"title", metric.title},
                   {"targetType", kTypes[static_cast<size_t>(spec.target_type)]},
                   {"target", InTargetUnits(spec, spec.target)},
                   {"pods", PodsJson(metric)}};
  if (metric.proposal.error) {
    out["error"] = *metric.proposal.error;
    return out;
  }
  out["usage"] = Units(metric.proposal.usage_milli);
  out["ratio"] = metric.proposal.ratio;
  out["adjustedRatio"] = metric.proposal.adjusted_ratio;
  out["withinTolerance"] = metric.proposal.within_tolerance;
  out["how"] = metric.how;
  out["proposes"] = metric.proposal.replicas;
  out["wins"] = explained.decision.winner == static_cast<int>(index);
  return out;
}

json::object DecisionJson(const hpa::Decision& decision) {
  json::object out{{"failed", decision.failed}, {"replicas", decision.replicas}};
  if (!decision.active_reason.empty()) out["scalingActiveReason"] = decision.active_reason;
  if (decision.normalized) {
    out["proposed"] = decision.proposed;
    out["stabilized"] = decision.normalized->stabilized;
    out["stabilization"] = hpa::StabilizationName(decision.normalized->stabilization);
    out["limit"] = hpa::LimitName(decision.normalized->limit);
  }
  return out;
}

json::object ReachJson(const Snapshot& snapshot, const Reach& reach) {
  json::array metrics;
  for (size_t i = 0; i < reach.metrics.size(); ++i) {
    const hpa::MetricSpec& spec = snapshot.hpa.spec.metrics[i];
    metrics.push_back(json::object{{"value", RangeJson(spec, reach.metrics[i].value)},
                                   {"target", RangeJson(spec, reach.metrics[i].target)}});
  }
  return {
      {"replicas", reach.wanted}, {"nextSyncAtMost", reach.limit}, {"metrics", std::move(metrics)}};
}

}  // namespace

std::string ExplanationJson(const Snapshot& snapshot, const Explanation& explained) {
  json::array metrics;
  for (size_t i = 0; i < explained.metrics.size(); ++i) {
    metrics.push_back(MetricJson(snapshot, explained, i));
  }
  json::array notes;
  for (const std::string& note : explained.notes) notes.emplace_back(note);
  json::object out{
      {"namespace", snapshot.hpa.ns},
      {"name", snapshot.hpa.name},
      {"target", snapshot.hpa.target.kind + "/" + snapshot.hpa.target.name},
      {"takenAt", TimeText(snapshot.taken_at)},
      {"replicas", snapshot.seen.spec_replicas},
      {"statusReplicas", snapshot.seen.status_replicas},
      {"desiredReplicas", explained.next.replicas},
      {"certain", explained.next.certain},
      {"why", explained.next.why},
      {"metrics", std::move(metrics)},
      {"decision", DecisionJson(explained.decision)},
      {"notes", std::move(notes)},
  };
  if (!snapshot.ahead.empty() || !snapshot.steps.empty()) {
    json::array events;
    for (const AheadEvent& step : snapshot.steps) {
      events.push_back(
          json::object{{"at", TimeText(step.at)}, {"reason", step.reason}, {"note", step.note}});
    }
    out["scaleAhead"] = json::object{{"annotation", snapshot.ahead}, {"events", std::move(events)}};
  }
  if (explained.reach) out["reach"] = ReachJson(snapshot, *explained.reach);
  return json::serialize(out) + "\n";
}

}  // namespace activescale::insight
