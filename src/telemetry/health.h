#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace activescale::telemetry {

/// What a check says at this moment.
struct CheckResult {
  bool ok = false;
  std::string reason;  // one line for a person: the state, its age, what to do
};

/// Named readiness checks, asked by /readyz. A check looks at real state, never blocks, and may
/// nudge an idle connection; it reports the state from before the nudge. Threads: any.
class HealthChecks {
 public:
  struct Outcome {
    std::string name;
    CheckResult result;
  };

  void Add(std::string name, std::function<CheckResult()> check);
  /// Every check in the order added; ready only if all are ok.
  [[nodiscard]] std::vector<Outcome> Run() const;
  [[nodiscard]] static bool AllOk(const std::vector<Outcome>& outcomes);
  /// Text in the form of Kubernetes' components: `[+]name ok: reason` / `[-]name failed: reason`,
  /// then `readyz check passed` or `readyz check failed`.
  [[nodiscard]] static std::string Describe(const std::vector<Outcome>& outcomes);

 private:
  struct Check {
    std::string name;
    std::function<CheckResult()> run;
  };
  mutable base::Mutex mutex_;
  std::vector<Check> checks_ GUARDED_BY(mutex_);
};

}  // namespace activescale::telemetry
