#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "insight/fleet.h"
#include "insight/hpa_table.h"
#include "insight/load_history.h"
#include "telemetry/health.h"

namespace activescale::insight {

/// What holds for as long as the process runs.
struct ServerFacts {
  std::string version;
  std::string pods_from;  // where pods are known from, in words
  std::string no_hpas;    // why HPAs are not known; "" if they are
};

/// Streams that end at one replica.
struct ReplicaStreams {
  std::string name;
  double open = 0;
};

/// Replicas of a Deployment, asked for and ready.
struct DeploymentReplicas {
  int32_t wanted = 0;
  int32_t ready = 0;
};
/// By namespace and name.
using Deployments = std::map<std::pair<std::string, std::string>, DeploymentReplicas>;

/// What an HPA gets of steps ahead: "on", "observe", "off" or "broken". Null: all are off.
using AheadOf = std::function<std::string_view(std::string_view ns, std::string_view hpa)>;

/// All that the overview is made of.
struct OverviewInput {
  const ServerFacts& facts;
  const Fleet& fleet;
  const LoadHistory& history;
  const HpaTable::Hpas& hpas;
  const Deployments& deployments;
  const AheadOf& ahead;
  std::vector<ReplicaStreams> streams;
  std::vector<telemetry::HealthChecks::Outcome> checks;
  std::string problem;  // why the fleet is not what it should be; "" if it is
};

/// The overview as the page gets it: each member is JSON already, so that two of them can be
/// compared. A value type.
struct Overview {
  enum Member : unsigned char { kFacts, kStreams, kChecks, kProblem };
  enum RowMember : unsigned char { kValues, kSpread, kPods, kHeard, kHpa, kReplicas };
  static constexpr std::array<std::string_view, 4> kMembers = {"facts", "streams", "checks",
                                                               "problem"};
  static constexpr std::array<std::string_view, 6> kRowMembers = {"values", "spread", "pods",
                                                                  "heard",  "hpa",    "replicas"};
  struct Row {
    std::string ns;
    std::string name;
    std::array<std::string, kRowMembers.size()> members;
  };

  base::WallTime at;
  std::array<std::string, kMembers.size()> members;
  std::vector<Row> rows;  // in order of namespace and name
};

/// A row for each workload that has pods or an HPA. Pure.
[[nodiscard]] Overview MakeOverview(const OverviewInput& input);

/// The whole of it: {"at", members..., "rows": [{"ns", "name", members...}]}. Members of rows:
/// "values" and "spread" ([least, most] each) by metric, null where nothing is known; "pods":
/// [all, missing, stale]; "heard": in the last 15 minutes; "hpa" and "replicas" or null. Times are
/// milliseconds since 1970.
[[nodiscard]] std::string OverviewJson(const Overview& overview);

/// What became different, in the same form: only changed members, and "gone": [["ns", "name"]].
[[nodiscard]] std::string ChangeJson(const Overview& before, const Overview& after);

/// Parts that the page of one workload has, too.
void AppendValues(const PerMetric<std::optional<Load>>& loads, std::string& out);
void AppendSpread(const PerMetric<std::optional<Load>>& loads, std::string& out);
/// [all, missing, stale].
void AppendCounts(const WorkloadSight& workload, std::string& out);
/// [asked for, ready] of the Deployment of that name; null if there is none.
void AppendReplicas(const Deployments& deployments, const std::string& ns, const std::string& name,
                    std::string& out);
/// "name", "fault", "min", "max", "current", "desired", "changed", "ahead" and "targets" of an HPA,
/// without braces.
void AppendHpaMembers(const HpaSight& hpa, const AheadOf& ahead, std::string& out);

}  // namespace activescale::insight
