#include "insight/workload_page.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "insight/explain.h"
#include "insight/json_parts.h"
#include "insight/watched_snapshot.h"

namespace activescale::insight {
namespace {

using base::AppendJsonString;

/// What the API server says of a pod, in a word or two; "" where nobody asks it.
std::string_view StateOf(const WorkloadPageInput& input, const std::string& pod) {
  if (!input.find_pod) return "";
  const auto info = input.find_pod({input.ns, pod});
  if (!info) return "gone";
  if (info->terminating) return "terminating";
  if (info->phase == kube::PodPhase::kPending) return "pending";
  return info->ready ? "ready" : "not ready";
}

void AppendPods(const WorkloadPageInput& input, const WorkloadSight& workload, std::string& out) {
  out += '[';
  JsonSeparator separate;
  for (const PodSight& pod : workload.pods) {
    if (&pod - workload.pods.data() >= static_cast<std::ptrdiff_t>(kMaxListedPods)) break;
    separate(out);
    out += "{\"name\":";
    AppendJsonString(pod.name, out);
    out += ",\"values\":[";
    JsonSeparator separate_values;
    for (const auto& value : pod.values) {
      separate_values(out);
      AppendAmount(value, out);
    }
    out += "],\"age\":";
    if (pod.age) {
      AppendNumber(pod.age->count(), out);
    } else {
      out += "null";
    }
    out += ",\"state\":";
    AppendJsonString(StateOf(input, pod.name), out);
    out += '}';
  }
  out += ']';
}

void AppendConditions(const std::vector<kube::Condition>& conditions, std::string& out) {
  out += '[';
  JsonSeparator separate;
  for (const kube::Condition& condition : conditions) {
    separate(out);
    const std::pair<std::string_view, const std::string&> members[] = {
        {"type", condition.type},
        {"status", condition.status},
        {"reason", condition.reason},
        {"message", condition.message},
        {"since", condition.since}};
    out += '{';
    JsonSeparator separate_members;
    for (const auto& [key, text] : members) {
      separate_members(out);
      AppendKey(key, out);
      AppendJsonString(text, out);
    }
    out += '}';
  }
  out += ']';
}

void AppendTexts(const std::vector<std::string>& texts, std::string& out) {
  out += '[';
  JsonSeparator separate;
  for (const std::string& text : texts) {
    separate(out);
    AppendJsonString(text, out);
  }
  out += ']';
}

void AppendExplanation(const WatchedSnapshot& seen, std::string& out) {
  const Explanation explained = Explain(seen.snapshot, std::nullopt);
  out += "{\"from\":";
  AppendNumber(seen.snapshot.seen.spec_replicas, out);
  out += ",\"replicas\":";
  AppendNumber(explained.next.replicas, out);
  out += explained.next.certain && seen.unseen.empty() ? ",\"certain\":true" : ",\"certain\":false";
  out += ",\"why\":";
  AppendJsonString(explained.next.why, out);
  out += ",\"metrics\":[";
  JsonSeparator separate;
  for (const ExplainedMetric& metric : explained.metrics) {
    separate(out);
    out += "{\"title\":";
    AppendJsonString(metric.title, out);
    if (metric.proposal.error) {
      out += ",\"error\":";
      AppendJsonString(*metric.proposal.error, out);
    } else {
      out += ",\"how\":";
      AppendJsonString(metric.how, out);
      out += ",\"proposes\":";
      AppendNumber(metric.proposal.replicas, out);
    }
    out += '}';
  }
  out += "],\"notes\":";
  AppendTexts(explained.notes, out);
  out += ",\"unseen\":";
  AppendTexts(seen.unseen, out);
  out += '}';
}

void AppendHpa(const WorkloadPageInput& input, const WorkloadSight* workload, const HpaSight& hpa,
               std::string& out) {
  out += '{';
  AppendHpaMembers(hpa, input.ahead, out);
  out += ",\"conditions\":";
  AppendConditions(hpa.object.conditions, out);
  out += ",\"explanation\":";
  const auto seen = hpa.fault.empty() ? SnapshotFromWatches(input, workload, hpa) : std::nullopt;
  if (seen) {
    AppendExplanation(*seen, out);
  } else {
    out += "null";
  }
  out += '}';
}

}  // namespace

std::string WorkloadJson(const WorkloadPageInput& input) {
  const WorkloadSight* workload = input.fleet.Find(input.ns, input.name);
  const WorkloadSight none;
  const WorkloadSight& shown = workload == nullptr ? none : *workload;
  std::string out = "{\"at\":";
  AppendTime(input.fleet.at, out);
  out += ",\"ns\":";
  AppendJsonString(input.ns, out);
  out += ",\"name\":";
  AppendJsonString(input.name, out);
  out += workload == nullptr ? ",\"known\":false" : ",\"known\":true";
  out += ",\"problem\":";
  AppendJsonString(input.problem, out);
  out += ",\"noHpas\":";
  AppendJsonString(input.facts.no_hpas, out);
  out += ",\"values\":";
  AppendValues(shown.loads, out);
  out += ",\"spread\":";
  AppendSpread(shown.loads, out);
  out += ",\"counts\":";
  AppendCounts(shown, out);
  out += ",\"replicas\":";
  AppendReplicas(input.deployments, input.ns, input.name, out);
  out += ",\"pods\":";
  AppendPods(input, shown, out);
  out += ",\"hpas\":[";
  JsonSeparator separate;
  for (const auto& hpa : input.hpas) {
    if (hpa->object.ns != input.ns || hpa->object.target.name != input.name) continue;
    separate(out);
    AppendHpa(input, workload, *hpa, out);
  }
  out += "]}";
  return out;
}

}  // namespace activescale::insight
