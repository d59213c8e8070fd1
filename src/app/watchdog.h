#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "app/thread.h"
#include "base/shutdown_stages.h"

namespace activescale::app {

/// Looks at the stages of a shutdown from a thread of its own and tells once which one hangs.
/// It lives as long as the shutdown and cannot hang itself: it waits for nothing but time.
class Watchdog {
 public:
  /// `on_overdue` runs on the watchdog's thread with the stage's name; in production it ends the
  /// process. `stages` must outlive this.
  Watchdog(const base::ShutdownStages& stages, std::chrono::milliseconds interval,
           std::function<void(const std::string& stage)> on_overdue);
  ~Watchdog();

 private:
  void Run();

  const base::ShutdownStages& stages_;
  const std::chrono::milliseconds interval_;
  const std::function<void(const std::string&)> on_overdue_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // guarded by mutex_
  Thread thread_;          // last: it uses all of the above
};

}  // namespace activescale::app
