#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/error.h"
#include "telemetry/registry.h"

namespace activescale::telemetry {

/// A configuration file that is read again when it changes. A text that cannot be used changes
/// nothing: what came of the one before stays, the fault is told once, and a metric says so.
/// Threads: one at a time.
class WatchedFile {
 public:
  /// How often Poll is meant to be called.
  static constexpr std::chrono::seconds kPollInterval{2};

  struct Options {
    std::string path;
    std::string what;            // for people: "file of signals"
    std::string reloads_metric;  // name of the counter of changes, by result
    std::string faulty_metric;   // name of the gauge that is 1 while it cannot be used
  };
  /// Puts a text to use, as a whole or not at all. Errors: why it cannot be used.
  using Use = std::function<base::Result<void>(const std::string& text)>;

  /// `registry` must outlive it.
  WatchedFile(Options options, Use use, Registry& registry);

  /// Reads the file for the first time. Errors: kNotFound: it cannot be read; those of the use;
  /// with the path.
  [[nodiscard]] base::Result<void> Load();
  /// Reads it again. Cost: one small read, which also finds changes behind the symbolic links of
  /// mounted ConfigMaps. Returns whether a new text was put to use.
  bool Poll();

 private:
  [[nodiscard]] base::Result<void> UseText(const std::string& text);
  [[nodiscard]] base::Result<std::string> Read() const;

  const Options options_;
  const Use use_;
  std::string text_;   // as last read, good or bad
  std::string fault_;  // of the last reading
  Counter& reloaded_;
  Counter& failed_;
  Gauge& faulty_;
};

}  // namespace activescale::telemetry
