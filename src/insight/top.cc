#include "insight/top.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "insight/finding.h"
#include "insight/snapshot.h"
#include "kube/json.h"
#include "kube/pod.h"
#include "metric/quantity.h"

namespace activescale::insight {
namespace {

namespace json = boost::json;
using kube::FindArray;
using kube::FindString;
using kube::QueryEscape;

/// Puts pods and their values together.
class TopGathering {
 public:
  TopGathering(const ClusterReader& reader, base::WallTime now) : reader_(reader), now_(now) {}

  TopTable Run(const std::string& ns);

 private:
  void ReadPods(const std::string& ns);
  void ReadMetric(const std::string& ns, size_t kind);
  void AddValue(const std::string& ns, size_t kind, const json::object& item);

  const ClusterReader& reader_;
  const base::WallTime now_;
  std::string root_;                                               // of the custom metrics API
  std::map<std::pair<std::string, std::string>, TopRow> rows_;     // by namespace and workload
  std::map<std::pair<std::string, std::string>, TopRow*> row_of_;  // by namespace and pod
  std::set<std::pair<std::string, std::string>> pushing_;          // pods
  TopTable table_;
};

void TopGathering::ReadPods(const std::string& ns) {
  const std::string path =
      ns.empty() ? "/api/v1/pods" : fmt::format("/api/v1/namespaces/{}/pods", QueryEscape(ns));
  std::string token;
  do {
    const auto page = reader_.get(fmt::format(
        "{}?limit=500{}", path, token.empty() ? "" : "&continue=" + QueryEscape(token)));
    if (!page) {
      table_.faults.push_back(OneLine(page.error().error.message));
      return;
    }
    token = FindString(*page, {"metadata", "continue"});
    const json::array* items = FindArray(*page, {"items"});
    if (items == nullptr) continue;
    for (const json::value& item : *items) {
      if (!item.is_object()) continue;
      const kube::Pod pod = kube::ParsePod(item.get_object());
      if (pod.finished() || pod.terminating) continue;
      const std::string owner = OwnerOf(pod);
      const std::string workload = owner.empty() ? "Pod/" + pod.name : owner;
      TopRow& row = rows_[{pod.ns, workload}];
      row.ns = pod.ns;
      row.workload = workload;
      ++row.pods;
      row_of_[{pod.ns, pod.name}] = &row;
    }
  } while (!token.empty());
}

void TopGathering::AddValue(const std::string& ns, size_t kind, const json::object& item) {
  const std::pair pod(ns, std::string(FindString(item, {"describedObject", "name"})));
  const auto row = row_of_.find(pod);
  const auto quantity = metric::Quantity::Parse(FindString(item, {"value"}));
  // A pod that came after the list of pods is in the next one.
  if (row == row_of_.end() || !quantity) return;
  auto& sum = row->second->milli[kind];
  sum = sum.value_or(0) + quantity->milli();
  pushing_.insert(pod);
  if (const auto at = kube::ParseTime(FindString(item, {"timestamp"}))) {
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now_ - *at);
    row->second->oldest = std::max(row->second->oldest, age);
  }
}

void TopGathering::ReadMetric(const std::string& ns, size_t kind) {
  const auto answer = reader_.get(fmt::format("{}/namespaces/{}/pods/%2A/{}", root_,
                                              QueryEscape(ns), metric::kMetricNames[kind]));
  if (!answer) {
    if (!MeansNoTelemetry(answer.error())) {
      table_.faults.push_back(OneLine(answer.error().error.message) +
                              "; activescale doctor looks for the cause");
    }
    return;
  }
  const json::array* items = FindArray(*answer, {"items"});
  if (items == nullptr) return;
  for (const json::value& item : *items) {
    if (item.is_object()) AddValue(ns, kind, item.get_object());
  }
}

TopTable TopGathering::Run(const std::string& ns) {
  ReadPods(ns);
  root_ = CustomMetricsRoot(reader_);
  std::set<std::string> namespaces;
  for (const auto& [key, row] : rows_) namespaces.insert(key.first);
  for (const std::string& each : namespaces) {
    for (size_t kind = 0; kind < metric::kMetricKindCount && table_.faults.empty(); ++kind) {
      ReadMetric(each, kind);
    }
  }
  for (const auto& pod : pushing_) ++row_of_[pod]->pushing;
  for (auto& [key, row] : rows_) {
    if (row.pushing == 0) {
      ++table_.silent;
    } else {
      table_.rows.push_back(std::move(row));
    }
  }
  std::ranges::sort(table_.rows, [](const TopRow& a, const TopRow& b) {
    return std::tuple(-a.milli[0].value_or(-1), a.ns, a.workload) <
           std::tuple(-b.milli[0].value_or(-1), b.ns, b.workload);
  });
  return std::move(table_);
}

/// A label of a series in Prometheus's text format; "" if it has none of that name.
std::string Label(std::string_view series, std::string_view name) {
  const std::string begin = fmt::format("{}=\"", name);
  size_t at = series.find(begin);
  while (at != std::string_view::npos && series[at - 1] != '{' && series[at - 1] != ',') {
    at = series.find(begin, at + 1);
  }
  if (at == std::string_view::npos) return {};
  series.remove_prefix(at + begin.size());
  return std::string(series.substr(0, series.find('"')));
}

/// Fills what is known of steps ahead. The circuit of an HPA is known to the replica that acts, so
/// the highest state that any of them tells counts.
void TellAhead(const base::Result<std::vector<ReplicaHealth>>& replicas, TopTable& table) {
  constexpr std::string_view kMetric = "activescale_scale_ahead_state{";
  constexpr std::string_view kStates[] = {"off", "observe", "on", "broken"};
  std::map<std::pair<std::string, std::string>, size_t> known;
  bool any = false;
  if (!replicas) table.ahead_fault = OneLine(replicas.error().message);
  for (const ReplicaHealth& replica :
       replicas ? std::span(*replicas) : std::span<const ReplicaHealth>()) {
    if (!replica.metrics) {
      table.ahead_fault = OneLine(replica.metrics.error().message);
      continue;
    }
    any = true;
    for (auto at = replica.metrics->lower_bound(kMetric);
         at != replica.metrics->end() && at->first.starts_with(kMetric); ++at) {
      size_t& state = known[{Label(at->first, "namespace"), Label(at->first, "workload")}];
      state = std::max(state, std::min(static_cast<size_t>(at->second), std::size(kStates) - 1));
    }
  }
  if (!any && table.ahead_fault.empty()) table.ahead_fault = "no replica is there to ask";
  if (!any) return;
  for (TopRow& row : table.rows) {
    const auto found = known.find({row.ns, row.workload});
    row.ahead = kStates[found == known.end() ? 0 : found->second];
  }
}

std::string Number(const std::optional<int64_t>& milli) {
  return milli ? fmt::format("{:g}", static_cast<double>(*milli) / 1000) : "-";
}

std::string Age(std::chrono::milliseconds age) {
  return fmt::format("{:.1f}s", std::chrono::duration<double>(age).count());
}

}  // namespace

TopTable GatherTop(const ClusterReader& reader, const std::string& ns,
                   const base::Result<std::vector<ReplicaHealth>>& replicas, base::WallTime now) {
  TopTable table = TopGathering(reader, now).Run(ns);
  TellAhead(replicas, table);
  return table;
}

std::string TopText(const TopTable& table, size_t most_rows) {
  size_t ns_width = std::string_view("NAMESPACE").size();
  size_t workload_width = std::string_view("WORKLOAD").size();
  const size_t shown = std::min(most_rows, table.rows.size());
  for (size_t i = 0; i < shown; ++i) {
    ns_width = std::max(ns_width, table.rows[i].ns.size());
    workload_width = std::max(workload_width, table.rows[i].workload.size());
  }
  const auto line = [&](std::string_view ns, std::string_view workload, std::string_view pods,
                        std::string_view inbound, std::string_view outbound,
                        std::string_view connections, std::string_view oldest,
                        std::string_view ahead) {
    return fmt::format("{:<{}}  {:<{}}  {:>11}  {:>9}  {:>9}  {:>11}  {:>7}  {}\n", ns, ns_width,
                       workload, workload_width, pods, inbound, outbound, connections, oldest,
                       ahead);
  };
  std::string text = line("NAMESPACE", "WORKLOAD", "PUSHING", "INBOUND", "OUTBOUND", "CONNECTIONS",
                          "OLDEST", "AHEAD");
  for (size_t i = 0; i < shown; ++i) {
    const TopRow& row = table.rows[i];
    text += line(row.ns, row.workload, fmt::format("{}/{}", row.pushing, row.pods),
                 Number(row.milli[0]), Number(row.milli[1]), Number(row.milli[2]), Age(row.oldest),
                 row.ahead.empty() ? "?" : row.ahead);
  }
  if (shown < table.rows.size()) {
    text += fmt::format("and {} more\n", table.rows.size() - shown);
  }
  if (table.silent > 0) {
    text += fmt::format("{} without telemetry\n", Plural(table.silent, "workload"));
  }
  if (!table.ahead_fault.empty()) {
    text += fmt::format("steps ahead are not known: {}; see --service and --health-address\n",
                        table.ahead_fault);
  }
  for (const std::string& fault : table.faults) {
    text += fmt::format("cannot read: {}\n", fault);
  }
  return text;
}

std::string TopJson(const TopTable& table) {
  json::array rows;
  for (const TopRow& row : table.rows) {
    json::object item{{"namespace", row.ns},
                      {"workload", row.workload},
                      {"pods", row.pods},
                      {"pushing", row.pushing},
                      {"oldestSeconds", std::chrono::duration<double>(row.oldest).count()}};
    for (size_t kind = 0; kind < metric::kMetricKindCount; ++kind) {
      if (row.milli[kind]) {
        item[metric::kMetricNames[kind]] = static_cast<double>(*row.milli[kind]) / 1000;
      }
    }
    if (!row.ahead.empty()) item["scaleAhead"] = row.ahead;
    rows.push_back(std::move(item));
  }
  json::object out{{"workloads", std::move(rows)},
                   {"silentWorkloads", table.silent},
                   {"faults", json::array(table.faults.begin(), table.faults.end())}};
  if (!table.ahead_fault.empty()) out["scaleAheadFault"] = table.ahead_fault;
  return json::serialize(out) + "\n";
}

}  // namespace activescale::insight
