#include "signal/catalogue_file.h"

#include <utility>

#include "base/log.h"

namespace activescale::signal {

CatalogueFile::CatalogueFile(std::string path, promql::Dialect dialect,
                             telemetry::Registry& registry)
    : given_(!path.empty()),
      dialect_(dialect),
      count_(registry.AddGauge("activescale_signals", "Signals that are served.")),
      file_(
          {.path = std::move(path),
           .what = "file of signals",
           .reloads_metric = "activescale_signals_reloads_total",
           .faulty_metric = "activescale_signals_file_faulty"},
          [this](const std::string& text) { return Use(text); }, registry) {}

base::Result<void> CatalogueFile::Load() { return given_ ? file_.Load() : base::Result<void>(); }

bool CatalogueFile::Poll() { return given_ && file_.Poll(); }

base::Result<void> CatalogueFile::Use(const std::string& text) {
  auto parsed = Catalogue::Parse(text, dialect_);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  catalogue_.Set(std::make_shared<const Catalogue>(*std::move(parsed)));
  const size_t count = catalogue_.Get()->signals().size();
  count_.Set(static_cast<double>(count));
  LOG_INFO("{} signals are served", count);
  return {};
}

}  // namespace activescale::signal
