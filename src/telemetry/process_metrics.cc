#include "telemetry/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "base/file_text.h"

namespace activescale::telemetry {
namespace {

// Fields of /proc/PID/stat, counted from the one after the name.
constexpr size_t kUserTicks = 11;
constexpr size_t kSystemTicks = 12;
constexpr size_t kThreads = 17;
constexpr size_t kStartTicks = 19;
constexpr size_t kVirtualBytes = 20;
constexpr size_t kResidentPages = 21;

double BootTimeSeconds() {
  const std::string text = base::ReadFile("/proc/stat").value_or("");
  constexpr std::string_view kKey = "btime ";
  const size_t at = text.find(kKey);
  if (at == std::string::npos) return 0;
  double seconds = 0;
  std::from_chars(text.data() + at + kKey.size(), text.data() + text.size(), seconds);
  return seconds;
}

KernelUnits UnitsOfThisKernel() {
  return {.ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK)),
          .page_bytes = static_cast<double>(sysconf(_SC_PAGESIZE)),
          .boot_time_seconds = BootTimeSeconds()};
}

std::optional<double> OpenFileDescriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator entries("/proc/self/fd", error);
  if (error) return std::nullopt;
  return static_cast<double>(std::distance(begin(entries), end(entries)));
}

}  // namespace

std::optional<ProcessStatus> ParseProcStat(std::string_view text, const KernelUnits& units) {
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  text.remove_prefix(name_end + 1);
  std::array<double, kResidentPages + 1> fields{};
  for (size_t i = 0; i < fields.size(); ++i) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::string_view field = text.substr(0, text.find(' '));
    if (field.empty()) return std::nullopt;
    // The first of them is a letter, the state, and stays 0.
    std::from_chars(field.begin(), field.end(), fields[i]);
    text.remove_prefix(field.size());
  }
  return ProcessStatus{
      .cpu_seconds = (fields[kUserTicks] + fields[kSystemTicks]) / units.ticks_per_second,
      .resident_bytes = fields[kResidentPages] * units.page_bytes,
      .virtual_bytes = fields[kVirtualBytes],
      .threads = fields[kThreads],
      .start_time_seconds = units.boot_time_seconds + fields[kStartTicks] / units.ticks_per_second};
}

ProcessMetrics::ProcessMetrics(Registry& registry, const std::string& version)
    : units_(UnitsOfThisKernel()),
      cpu_(registry.AddCounter("process_cpu_seconds_total",
                               "Processor time of this process, user and system.")),
      resident_(registry.AddGauge("process_resident_memory_bytes", "Memory in RAM.")),
      virtual_(registry.AddGauge("process_virtual_memory_bytes", "Address space in use.")),
      threads_(registry.AddGauge("process_threads", "Threads of this process.")),
      start_(registry.AddGauge("process_start_time_seconds",
                               "When this process started, as seconds since 1970.")),
      open_fds_(registry.AddGauge("process_open_fds", "Open file descriptors.")),
      max_fds_(registry.AddGauge("process_max_fds", "Limit of open file descriptors.")) {
  registry
      .AddGauge("activescale_build_info", "1; the version is the label.", {{"version", version}})
      .Set(1);
  registry.AddRefresh([this] { Refresh(); });
}

void ProcessMetrics::Refresh() {
  if (const auto status = ParseProcStat(base::ReadFile("/proc/self/stat").value_or(""), units_)) {
    cpu_.Increment(std::max(0.0, status->cpu_seconds - cpu_.Value()));
    resident_.Set(status->resident_bytes);
    virtual_.Set(status->virtual_bytes);
    threads_.Set(status->threads);
    start_.Set(status->start_time_seconds);
  }
  if (const auto open = OpenFileDescriptors()) open_fds_.Set(*open);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) max_fds_.Set(static_cast<double>(limit.rlim_cur));
}

}  // namespace activescale::telemetry
