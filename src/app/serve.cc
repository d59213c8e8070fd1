#include "app/serve.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>

#include "app/program.h"
#include "app/server.h"
#include "app/signals.h"
#include "app/watchdog.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/shutdown_stages.h"

namespace activescale::app {
namespace {

constexpr std::chrono::milliseconds kWatchdogInterval{100};

[[noreturn]] void EndHungShutdown(const std::string& stage) {
  LOG_ERROR("shutdown: \"{}\" hangs; ending the process without it", stage);
  _exit(kExitShutdownHung);
}

}  // namespace

int Serve(const Config& config) {
  TerminationSignal termination;
  // A peer that went away is an error of that write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  const base::SystemClock clock;
  auto server = Server::Start(config, clock);
  if (!server) {
    LOG_ERROR("cannot start: {}", server.error().message);
    return kExitFailure;
  }
  const int signal = termination.Wait();
  LOG_INFO("shutdown: signal {}; another one ends the process at once", signal);
  base::ShutdownStages stages(clock);
  (*server)->AddShutdownStages(stages);
  const Watchdog watchdog(stages, kWatchdogInterval, EndHungShutdown);
  stages.Run();
  LOG_INFO("shutdown: complete");
  return kExitOk;
}

}  // namespace activescale::app
