#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "base/snapshot.h"
#include "promql/dialect.h"
#include "signal/catalogue.h"
#include "telemetry/registry.h"

namespace activescale::signal {

/// The signals of a file, kept equal to it. A file that has become faulty changes nothing: the
/// signals from before stay, the fault is told once, and a metric says so.
/// Threads: Poll on one; the rest any.
class CatalogueFile {
 public:
  /// An empty path: no signals. `registry` must outlive it.
  CatalogueFile(std::string path, promql::Dialect dialect, telemetry::Registry& registry);

  /// Reads the file for the first time. Errors: kNotFound: it cannot be read; kInvalidArgument, as
  /// Catalogue::Parse.
  [[nodiscard]] base::Result<void> Load();
  /// Reads it again. Cost: one small read; meant for every second or two, which also finds changes
  /// behind the symbolic links of mounted ConfigMaps. Returns whether there are new signals.
  bool Poll();

  /// Never null.
  [[nodiscard]] std::shared_ptr<const Catalogue> Get() const { return catalogue_.Get(); }

 private:
  [[nodiscard]] base::Result<void> Take(const std::string& text);
  [[nodiscard]] base::Result<std::string> Read() const;

  const std::string path_;
  const promql::Dialect dialect_;
  std::string text_;   // as last read, good or bad
  std::string fault_;  // of the last reading
  base::Snapshot<Catalogue> catalogue_{std::make_shared<const Catalogue>()};
  telemetry::Counter& reloaded_;
  telemetry::Counter& failed_;
  telemetry::Gauge& faulty_;
  telemetry::Gauge& count_;
};

}  // namespace activescale::signal
