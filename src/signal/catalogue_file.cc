#include "signal/catalogue_file.h"

#include <fmt/format.h>

#include <utility>

#include "base/file_text.h"
#include "base/log.h"

namespace activescale::signal {
namespace {

telemetry::Counter& ReloadCounter(telemetry::Registry& registry, const std::string& result) {
  return registry.AddCounter("activescale_signals_reloads_total",
                             "Changes of the file of signals, by whether they could be used.",
                             {{"result", result}});
}

}  // namespace

CatalogueFile::CatalogueFile(std::string path, promql::Dialect dialect,
                             telemetry::Registry& registry)
    : path_(std::move(path)),
      dialect_(dialect),
      reloaded_(ReloadCounter(registry, "reloaded")),
      failed_(ReloadCounter(registry, "failed")),
      faulty_(registry.AddGauge("activescale_signals_file_faulty",
                                "1 while the file of signals cannot be used and those from before "
                                "are served.")),
      count_(registry.AddGauge("activescale_signals", "Signals that are served.")) {}

base::Result<void> CatalogueFile::Load() {
  if (path_.empty()) return {};
  auto text = Read();
  if (!text) return std::unexpected(std::move(text.error()));
  return Take(*text);
}

bool CatalogueFile::Poll() {
  if (path_.empty()) return false;
  auto text = Read();
  if (text && *text == text_) {
    // Also ends a fault that was none of the text.
    if (fault_.empty()) return false;
  }
  auto taken = text ? Take(*text) : base::Result<void>(std::unexpected(std::move(text.error())));
  if (taken) {
    fault_.clear();
    faulty_.Set(0);
    reloaded_.Increment();
    LOG_INFO("{} signals from the changed {}", catalogue_.Get()->signals().size(), path_);
    return true;
  }
  faulty_.Set(1);
  if (taken.error().message == fault_) return false;
  fault_ = std::move(taken.error().message);
  failed_.Increment();
  LOG_ERROR("the signals from before stay: {}", fault_);
  return false;
}

base::Result<void> CatalogueFile::Take(const std::string& text) {
  text_ = text;
  auto parsed = Catalogue::Parse(text, dialect_);
  if (!parsed) {
    return base::Fail(parsed.error().code,
                      fmt::format("file of signals {}: {}", path_, parsed.error().message));
  }
  catalogue_.Set(std::make_shared<const Catalogue>(*std::move(parsed)));
  count_.Set(static_cast<double>(catalogue_.Get()->signals().size()));
  return {};
}

base::Result<std::string> CatalogueFile::Read() const {
  auto text = base::ReadFile(path_);
  if (text) return *std::move(text);
  return base::Fail(base::Code::kNotFound, fmt::format("cannot read the file of signals {}: {}",
                                                       path_, text.error().message()));
}

}  // namespace activescale::signal
