#pragma once

#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
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

/// Seconds of a flag's duration. Errors: kInvalidArgument, naming the flag.
[[nodiscard]] base::Result<double> Seconds(const std::string& flag, const std::string& text);

/// Parses `arguments`; nothing if the command is to run, else its exit code (help was printed, or
/// what is wrong).
[[nodiscard]] std::optional<int> ParseFlags(CLI::App& app, std::span<const std::string> arguments);

/// Prints `activescale COMMAND: message` to stderr; returns the exit code of bad input.
int Refuse(const CLI::App& app, const std::string& message);

[[nodiscard]] base::Result<std::string> ReadTextFile(const std::string& path);
/// To `path`, in one step, so that nothing half-written is ever there; to stdout if it is empty.
[[nodiscard]] base::Result<void> WriteOutput(const std::string& path, const std::string& text);

}  // namespace activescale::app
