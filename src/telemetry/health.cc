#include "telemetry/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace activescale::telemetry {

void HealthChecks::Add(std::string name, std::function<CheckResult()> check) {
  base::MutexLock lock(mutex_);
  checks_.push_back({std::move(name), std::move(check)});
}

std::vector<HealthChecks::Outcome> HealthChecks::Run() const {
  std::vector<Check> checks;
  {
    // A check may take locks of its own and must not do so under ours.
    base::MutexLock lock(mutex_);
    checks = checks_;
  }
  std::vector<Outcome> outcomes;
  outcomes.reserve(checks.size());
  for (Check& check : checks) outcomes.push_back({std::move(check.name), check.run()});
  return outcomes;
}

bool HealthChecks::AllOk(const std::vector<Outcome>& outcomes) {
  return std::ranges::all_of(outcomes, [](const Outcome& outcome) { return outcome.result.ok; });
}

std::string HealthChecks::Describe(const std::vector<Outcome>& outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes) {
    text += fmt::format("{}{} {}", outcome.result.ok ? "[+]" : "[-]", outcome.name,
                        outcome.result.ok ? "ok" : "failed");
    if (!outcome.result.reason.empty()) text += ": " + outcome.result.reason;
    text += "\n";
  }
  return text + (AllOk(outcomes) ? "readyz check passed\n" : "readyz check failed\n");
}

}  // namespace activescale::telemetry
