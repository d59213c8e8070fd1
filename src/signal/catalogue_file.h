#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "base/snapshot.h"
#include "promql/dialect.h"
#include "signal/catalogue.h"
#include "telemetry/registry.h"
#include "telemetry/watched_file.h"

namespace activescale::signal {

/// The signals of a file, kept equal to it as a telemetry::WatchedFile is.
/// Threads: Poll on one; the rest any.
class CatalogueFile {
 public:
  /// An empty path: no signals. `registry` must outlive it.
  CatalogueFile(std::string path, promql::Dialect dialect, telemetry::Registry& registry);

  /// Reads the file for the first time. Errors: kNotFound: it cannot be read; kInvalidArgument, as
  /// Catalogue::Parse.
  [[nodiscard]] base::Result<void> Load();
  /// Reads it again, as WatchedFile::Poll. Returns whether there are new signals.
  bool Poll();

  /// Never null.
  [[nodiscard]] std::shared_ptr<const Catalogue> Get() const { return catalogue_.Get(); }

 private:
  [[nodiscard]] base::Result<void> Use(const std::string& text);

  const bool given_;
  const promql::Dialect dialect_;
  base::Snapshot<Catalogue> catalogue_{std::make_shared<const Catalogue>()};
  telemetry::Gauge& count_;
  telemetry::WatchedFile file_;
};

}  // namespace activescale::signal
