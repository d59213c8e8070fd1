#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "telemetry/registry.h"

namespace activescale::telemetry {

/// What the kernel says of a process, in the units of /metrics.
struct ProcessStatus {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double threads = 0;
  double start_time_seconds = 0;  // since 1970
};

/// How the kernel counts: sysconf(_SC_CLK_TCK), sysconf(_SC_PAGESIZE), and the boot time since
/// 1970.
struct KernelUnits {
  double ticks_per_second = 100;
  double page_bytes = 4096;
  double boot_time_seconds = 0;
};

/// Reads the text of /proc/PID/stat, whose second field, the name in brackets, may have any
/// character in it. Nothing if it has too few fields. Source: proc(5).
[[nodiscard]] std::optional<ProcessStatus> ParseProcStat(std::string_view text,
                                                         const KernelUnits& units);

/// This process under the names that Prometheus's client libraries use (`process_cpu_seconds_total`
/// and so on), read anew at each scrape, and `activescale_build_info`. A value that cannot be read
/// keeps its last state. `registry` must outlive it, and it the registry's last Render.
class ProcessMetrics {
 public:
  ProcessMetrics(Registry& registry, const std::string& version);
  ProcessMetrics(const ProcessMetrics&) = delete;
  ProcessMetrics& operator=(const ProcessMetrics&) = delete;

 private:
  void Refresh();

  const KernelUnits units_;
  Counter& cpu_;
  Gauge& resident_;
  Gauge& virtual_;
  Gauge& threads_;
  Gauge& start_;
  Gauge& open_fds_;
  Gauge& max_fds_;
};

}  // namespace activescale::telemetry
