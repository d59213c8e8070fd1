#include "insight/overview.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <iterator>
#include <span>
#include <tuple>

#include "hpa/types.h"
#include "insight/json_parts.h"

namespace activescale::insight {
namespace {

using base::AppendJsonString;

std::string FactsJson(const ServerFacts& facts) {
  std::string out = "{\"version\":";
  AppendJsonString(facts.version, out);
  out += ",\"podsFrom\":";
  AppendJsonString(facts.pods_from, out);
  out += ",\"noHpas\":";
  AppendJsonString(facts.no_hpas, out);
  out += '}';
  return out;
}

std::string StreamsJson(const std::vector<ReplicaStreams>& streams) {
  std::string out = "[";
  JsonSeparator separate;
  for (const ReplicaStreams& replica : streams) {
    separate(out);
    out += '[';
    AppendJsonString(replica.name, out);
    out += ',';
    AppendNumber(std::llround(replica.open), out);
    out += ']';
  }
  out += ']';
  return out;
}

std::string ChecksJson(const std::vector<telemetry::HealthChecks::Outcome>& checks) {
  std::string out = "[";
  JsonSeparator separate;
  for (const auto& check : checks) {
    separate(out);
    out += "{\"name\":";
    AppendJsonString(check.name, out);
    out += check.result.ok ? ",\"ok\":true,\"reason\":" : ",\"ok\":false,\"reason\":";
    AppendJsonString(check.result.reason, out);
    out += '}';
  }
  out += ']';
  return out;
}

void AppendTarget(const hpa::MetricSpec& spec, const kube::MetricSource& source, std::string& out) {
  constexpr std::string_view kTypes[] = {"Value", "AverageValue", "Utilization"};
  out += "{\"title\":";
  AppendJsonString(kube::MetricTitle(spec, source), out);
  out += ",\"metric\":";
  AppendJsonString(spec.name, out);
  out += ",\"perPod\":";
  out += spec.type == hpa::MetricType::kPods ? "true" : "false";
  out += ",\"type\":";
  AppendJsonString(kTypes[static_cast<size_t>(spec.target_type)], out);
  out += ",\"target\":";
  if (spec.target_type == hpa::TargetType::kUtilization) {
    AppendNumber(spec.target, out);
  } else {
    AppendAmount(metric::Quantity::FromMilli(spec.target), out);
  }
  out += '}';
}

/// The HPAs of one target, null if there is none; of several the first, with how many there are.
std::string HpaJson(std::span<const HpaSight* const> hpas, const AheadOf& ahead) {
  if (hpas.empty()) return "null";
  std::string out = "{";
  AppendHpaMembers(*hpas.front(), ahead, out);
  out += ",\"count\":";
  AppendNumber(std::ssize(hpas), out);
  out += '}';
  return out;
}

using TargetName = std::tuple<std::string_view, std::string_view>;

TargetName TargetOf(const HpaSight* hpa) { return {hpa->object.ns, hpa->object.target.name}; }

Overview::Row MakeRow(const OverviewInput& input, const WorkloadSight& workload,
                      std::span<const HpaSight* const> hpas) {
  Overview::Row row{.ns = workload.ns, .name = workload.name, .members = {}};
  AppendValues(workload.loads, row.members[Overview::kValues]);
  AppendSpread(workload.loads, row.members[Overview::kSpread]);
  AppendCounts(workload, row.members[Overview::kPods]);
  const bool heard = workload.heard() || input.history.Knows(workload.ns, workload.name);
  row.members[Overview::kHeard] = heard ? "true" : "false";
  row.members[Overview::kHpa] = HpaJson(hpas, input.ahead);
  AppendReplicas(input.deployments, workload.ns, workload.name, row.members[Overview::kReplicas]);
  return row;
}

/// Rows of workloads and of targets of HPAs that have no pods, merged.
std::vector<Overview::Row> MakeRows(const OverviewInput& input) {
  std::vector<const HpaSight*> hpas;
  hpas.reserve(input.hpas.size());
  for (const auto& hpa : input.hpas) hpas.push_back(hpa.get());
  std::ranges::stable_sort(hpas, {}, TargetOf);

  std::vector<Overview::Row> rows;
  rows.reserve(input.fleet.workloads.size());
  auto workload = input.fleet.workloads.begin();
  auto hpa = hpas.begin();
  while (workload != input.fleet.workloads.end() || hpa != hpas.end()) {
    const bool only_hpa =
        workload == input.fleet.workloads.end() ||
        (hpa != hpas.end() && TargetOf(*hpa) < TargetName(workload->ns, workload->name));
    const TargetName name = only_hpa ? TargetOf(*hpa) : TargetName(workload->ns, workload->name);
    const auto end =
        std::find_if(hpa, hpas.end(), [&](const HpaSight* h) { return TargetOf(h) != name; });
    const std::span<const HpaSight* const> of_this(hpa, end);
    if (only_hpa) {
      const WorkloadSight none{.ns = std::string(std::get<0>(name)),
                               .name = std::string(std::get<1>(name))};
      rows.push_back(MakeRow(input, none, of_this));
    } else {
      rows.push_back(MakeRow(input, *workload++, of_this));
    }
    hpa = end;
  }
  return rows;
}

void AppendNames(const Overview::Row& row, std::string& out) {
  out += "{\"ns\":";
  AppendJsonString(row.ns, out);
  out += ",\"name\":";
  AppendJsonString(row.name, out);
}

/// All members of a row, or those that differ from `before`; false if none does.
bool AppendRow(const Overview::Row& row, const Overview::Row* before, std::string& out) {
  if (before != nullptr && before->members == row.members) return false;
  AppendNames(row, out);
  for (size_t i = 0; i < row.members.size(); ++i) {
    if (before != nullptr && before->members[i] == row.members[i]) continue;
    out += ',';
    AppendKey(Overview::kRowMembers[i], out);
    out += row.members[i];
  }
  out += '}';
  return true;
}

/// "at" and the members of the whole, or those that differ from `before`.
std::string Head(const Overview& overview, const Overview* before) {
  std::string out = "{\"at\":";
  AppendTime(overview.at, out);
  for (size_t i = 0; i < overview.members.size(); ++i) {
    if (before != nullptr && before->members[i] == overview.members[i]) continue;
    out += ',';
    AppendKey(Overview::kMembers[i], out);
    out += overview.members[i];
  }
  out += ",\"rows\":[";
  return out;
}

auto NameOf(const Overview::Row& row) {
  return std::tuple(std::string_view(row.ns), std::string_view(row.name));
}

}  // namespace

void AppendValues(const PerMetric<std::optional<Load>>& loads, std::string& out) {
  out += '[';
  JsonSeparator separate;
  for (const auto& load : loads) {
    separate(out);
    AppendAmount(load ? std::optional(load->total) : std::nullopt, out);
  }
  out += ']';
}

void AppendSpread(const PerMetric<std::optional<Load>>& loads, std::string& out) {
  out += '[';
  JsonSeparator separate;
  for (const auto& load : loads) {
    separate(out);
    if (!load) {
      out += "null";
      continue;
    }
    out += '[';
    AppendAmount(load->least, out);
    out += ',';
    AppendAmount(load->most, out);
    out += ']';
  }
  out += ']';
}

void AppendCounts(const WorkloadSight& workload, std::string& out) {
  out += '[';
  AppendNumber(std::ssize(workload.pods), out);
  out += ',';
  AppendNumber(static_cast<int64_t>(workload.missing), out);
  out += ',';
  AppendNumber(static_cast<int64_t>(workload.stale), out);
  out += ']';
}

void AppendReplicas(const Deployments& deployments, const std::string& ns, const std::string& name,
                    std::string& out) {
  const auto at = deployments.find({ns, name});
  if (at == deployments.end()) {
    out += "null";
    return;
  }
  out += '[';
  AppendNumber(at->second.wanted, out);
  out += ',';
  AppendNumber(at->second.ready, out);
  out += ']';
}

void AppendHpaMembers(const HpaSight& hpa, const AheadOf& ahead, std::string& out) {
  const kube::HpaObject& object = hpa.object;
  out += "\"name\":";
  AppendJsonString(object.name, out);
  out += ",\"fault\":";
  AppendJsonString(hpa.fault, out);
  const std::pair<std::string_view, int32_t> numbers[] = {{"min", object.spec.min_replicas},
                                                          {"max", object.spec.max_replicas},
                                                          {"current", hpa.current_replicas},
                                                          {"desired", object.desired_replicas}};
  for (const auto& [key, number] : numbers) {
    out += ',';
    AppendKey(key, out);
    AppendNumber(number, out);
  }
  out += ",\"changed\":";
  AppendTime(hpa.last_scale, out);
  out += ",\"ahead\":";
  AppendJsonString(ahead ? ahead(object.ns, object.name) : "off", out);
  out += ",\"targets\":[";
  JsonSeparator separate;
  for (size_t i = 0; i < object.spec.metrics.size(); ++i) {
    separate(out);
    AppendTarget(object.spec.metrics[i], object.sources[i], out);
  }
  out += ']';
}

Overview MakeOverview(const OverviewInput& input) {
  Overview overview{.at = input.fleet.at, .members = {}, .rows = MakeRows(input)};
  overview.members[Overview::kFacts] = FactsJson(input.facts);
  overview.members[Overview::kStreams] = StreamsJson(input.streams);
  overview.members[Overview::kChecks] = ChecksJson(input.checks);
  AppendJsonString(input.problem, overview.members[Overview::kProblem]);
  return overview;
}

std::string OverviewJson(const Overview& overview) {
  std::string out = Head(overview, nullptr);
  JsonSeparator separate;
  for (const Overview::Row& row : overview.rows) {
    separate(out);
    AppendRow(row, nullptr, out);
  }
  out += "]}";
  return out;
}

std::string ChangeJson(const Overview& before, const Overview& after) {
  std::string out = Head(after, &before);
  std::string gone;
  JsonSeparator separate_gone;
  bool first = true;
  auto old = before.rows.begin();
  const auto drop = [&] {
    separate_gone(gone);
    gone += '[';
    AppendJsonString(old->ns, gone);
    gone += ',';
    AppendJsonString(old->name, gone);
    gone += ']';
    ++old;
  };
  for (const Overview::Row& row : after.rows) {
    while (old != before.rows.end() && NameOf(*old) < NameOf(row)) drop();
    const bool known = old != before.rows.end() && NameOf(*old) == NameOf(row);
    const size_t size = out.size();
    if (!first) out += ',';
    if (AppendRow(row, known ? &*old : nullptr, out)) {
      first = false;
    } else {
      out.resize(size);
    }
    if (known) ++old;
  }
  while (old != before.rows.end()) drop();
  out += "],\"gone\":[" + gone + "]}";
  return out;
}

}  // namespace activescale::insight
