#include "base/shutdown_stages.h"

#include <utility>

#include "base/duration.h"
#include "base/log.h"

namespace activescale::base {

void ShutdownStages::Add(std::string name, std::chrono::nanoseconds limit,
                         std::move_only_function<void()> run) {
  stages_.push_back({std::move(name), limit, std::move(run)});
}

void ShutdownStages::Run() {
  for (Stage& stage : stages_) {
    const SteadyTime start = clock_.Now();
    {
      MutexLock lock(mutex_);
      running_ = Running{stage.name, start + stage.limit};
    }
    LOG_INFO("shutdown: {}", stage.name);
    stage.run();
    const auto took = std::chrono::floor<std::chrono::milliseconds>(clock_.Now() - start);
    LOG_INFO("shutdown: {} done after {}", stage.name, FormatDuration(took));
  }
  MutexLock lock(mutex_);
  running_.reset();
}

std::optional<std::string> ShutdownStages::Overdue() const {
  MutexLock lock(mutex_);
  if (!running_ || clock_.Now() <= running_->deadline) return std::nullopt;
  return running_->name;
}

}  // namespace activescale::base
