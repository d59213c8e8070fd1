#include "redis/health.h"

#include <fmt/format.h>

#include <chrono>

namespace activescale::redis {
namespace {

void Append(std::string& text, std::string_view part) {
  if (!text.empty()) text += "; ";
  text += part;
}

std::string Describe(const NodeHealth& node, base::SteadyTime now) {
  const double age = std::chrono::duration<double>(now - node.since).count();
  std::string text = fmt::format("{} {} for {:.1f}s", node.name, PhaseName(node.phase), age);
  if (!node.reason.empty()) text += fmt::format(" ({} attempts): {}", node.attempts, node.reason);
  return text;
}

}  // namespace

HealthSummary Summarize(const ClientHealth& health, base::SteadyTime now) {
  size_t masters = 0;
  size_t ready_masters = 0;
  std::string faults;
  for (const NodeHealth& node : health.nodes) {
    const bool ready = node.phase == LinkPhase::kReady;
    masters += node.serves ? 1 : 0;
    ready_masters += node.serves && ready ? 1 : 0;
    if (!ready) Append(faults, Describe(node, now));
  }
  if (health.slots_without_node > 0) {
    Append(faults, fmt::format("{} slots have no master", health.slots_without_node));
  }
  if (!health.problem.empty()) Append(faults, health.problem);
  HealthSummary summary;
  summary.ok = ready_masters > 0;
  summary.partial = summary.ok && (ready_masters < masters || health.slots_without_node > 0);
  if (masters == 0) Append(summary.text, "no master is known");
  if (masters == 1 && summary.ok) {
    for (const NodeHealth& node : health.nodes) {
      if (node.serves) Append(summary.text, Describe(node, now));
    }
  } else if (masters > 1) {
    Append(summary.text, fmt::format("{} of {} masters ready", ready_masters, masters));
  }
  if (!faults.empty()) Append(summary.text, faults);
  return summary;
}

}  // namespace activescale::redis
