#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/usage.h"
#include "base/clock.h"
#include "base/error.h"
#include "sim/history.h"
#include "sim/manifest.h"
#include "sim/model.h"

namespace activescale::app {

/// Flags that describe a service, shared by simulate and recommend. Durations as Go writes them.
struct ServiceFlags {
  std::string latency = "200ms";
  double latency_spread = 0;
  int workers = 0;
  int64_t queue_limit = 0;
  std::string start = "5s";
  std::string start_spread = "0s";
  std::string warmup = "0s";
  std::string terminating = "5s";

  void AddTo(CLI::App& app);
  /// Errors: kInvalidArgument, naming the flag.
  [[nodiscard]] base::Result<sim::ServiceModel> Read() const;
};

/// Flags that ask a Prometheus, or our own history, for what happened; shared by simulate and
/// recommend.
struct HistoryFlags {
  std::string url;
  std::string data_dir;
  std::string query;
  std::string history = "168h";
  std::string resolution = "60s";

  void AddTo(CLI::App& app);
  [[nodiscard]] bool given() const { return !url.empty() || !data_dir.empty(); }
  /// The series of `asked` over the history that ends at `now`. Errors: kInvalidArgument, naming
  /// the flag; what RangeAnswers and net::HttpClient say.
  [[nodiscard]] base::Result<std::vector<sim::HistorySeries>> Ask(const std::string& asked,
                                                                  base::WallTime now) const;
};

/// The manifest in a file. Errors: as sim::ReadManifest, with the file's name; kUnavailable.
[[nodiscard]] base::Result<sim::ManifestHpa> ReadManifestFile(const std::string& path);

/// Seconds of a flag's duration. Errors: kInvalidArgument, naming the flag.
[[nodiscard]] base::Result<double> Seconds(const std::string& flag, const std::string& text);

/// The parts of a flag's NAMESPACE/NAME. Errors: kInvalidArgument, naming the flag.
[[nodiscard]] base::Result<std::pair<std::string, std::string>> SplitName(const std::string& flag,
                                                                          const std::string& text);

/// The usage of a command whose flags `add` gives to a parser, with its name and description.
template <typename Flags>
[[nodiscard]] Usage UsageWith(void (*add)(CLI::App&, Flags&)) {
  CLI::App app;
  Flags flags;
  add(app, flags);
  return UsageOf(app);
}

/// Parses `arguments`; nothing if the command is to run, else its exit code (help was printed, or
/// what is wrong).
[[nodiscard]] std::optional<int> ParseFlags(CLI::App& app, std::span<const std::string> arguments);

/// The exit code of a command that is `done`; prints why not, if it is not.
[[nodiscard]] int Finish(const CLI::App& app, const base::Result<void>& done);

[[nodiscard]] base::Result<std::string> ReadTextFile(const std::string& path);
/// To `path`, in one step, so that nothing half-written is ever there; to stdout if it is empty.
[[nodiscard]] base::Result<void> WriteOutput(const std::string& path, const std::string& text);

}  // namespace activescale::app
