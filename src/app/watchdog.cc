#include "app/watchdog.h"

#include <utility>

namespace activescale::app {

Watchdog::Watchdog(const base::ShutdownStages& stages, std::chrono::milliseconds interval,
                   std::function<void(const std::string&)> on_overdue)
    : stages_(stages),
      interval_(interval),
      on_overdue_(std::move(on_overdue)),
      thread_("watchdog", [this] { Run(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
}

void Watchdog::Run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval_, [this] { return stopping_; })) {
    if (const auto stage = stages_.Overdue()) {
      on_overdue_(*stage);
      return;
    }
  }
}

}  // namespace activescale::app
