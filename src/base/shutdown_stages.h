#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace activescale::base {

/// The steps of an orderly end, run one after the other and each told in the log, so that a
/// watchdog can name the one that hangs.
/// Threads: Add, then Run, on one; the rest from any.
class ShutdownStages {
 public:
  explicit ShutdownStages(const Clock& clock) : clock_(clock) {}

  /// `limit` is how long `run` should take at most; it must bound its own waits by less.
  void Add(std::string name, std::chrono::nanoseconds limit, std::move_only_function<void()> run);

  /// Runs the stages in the order added, on the calling thread. Call once.
  void Run();

  /// The stage that runs longer than its limit now; nothing while all is well.
  [[nodiscard]] std::optional<std::string> Overdue() const;

 private:
  struct Stage {
    std::string name;
    std::chrono::nanoseconds limit;
    std::move_only_function<void()> run;
  };
  struct Running {
    std::string name;
    SteadyTime deadline;
  };

  const Clock& clock_;
  std::vector<Stage> stages_;
  mutable Mutex mutex_;
  std::optional<Running> running_ GUARDED_BY(mutex_);
};

}  // namespace activescale::base
