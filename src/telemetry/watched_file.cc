#include "telemetry/watched_file.h"

#include <fmt/format.h>

#include <utility>

#include "base/file_text.h"
#include "base/log.h"

namespace activescale::telemetry {
namespace {

Counter& ReloadCounter(Registry& registry, const WatchedFile::Options& options,
                       const std::string& result) {
  return registry.AddCounter(
      options.reloads_metric,
      fmt::format("Changes of the {}, by whether they could be used.", options.what),
      {{"result", result}});
}

}  // namespace

WatchedFile::WatchedFile(Options options, Use use, Registry& registry)
    : options_(std::move(options)),
      use_(std::move(use)),
      reloaded_(ReloadCounter(registry, options_, "reloaded")),
      failed_(ReloadCounter(registry, options_, "failed")),
      faulty_(registry.AddGauge(
          options_.faulty_metric,
          fmt::format("1 while the {} cannot be used and what it said before holds.",
                      options_.what))) {}

base::Result<void> WatchedFile::Load() {
  auto text = Read();
  if (!text) return std::unexpected(std::move(text.error()));
  return UseText(*text);
}

bool WatchedFile::Poll() {
  auto text = Read();
  // The same text is put to use again after a fault that was none of the text.
  if (text && *text == text_ && fault_.empty()) return false;
  auto used = text ? UseText(*text) : base::Result<void>(std::unexpected(std::move(text.error())));
  if (used) {
    fault_.clear();
    faulty_.Set(0);
    reloaded_.Increment();
    LOG_INFO("took the changed {} {}", options_.what, options_.path);
    return true;
  }
  faulty_.Set(1);
  if (used.error().message == fault_) return false;
  fault_ = std::move(used.error().message);
  failed_.Increment();
  LOG_ERROR("what was there before holds: {}", fault_);
  return false;
}

base::Result<void> WatchedFile::UseText(const std::string& text) {
  text_ = text;
  auto used = use_(text);
  if (used) return used;
  return base::Fail(used.error().code,
                    fmt::format("{} {}: {}", options_.what, options_.path, used.error().message));
}

base::Result<std::string> WatchedFile::Read() const {
  auto text = base::ReadFile(options_.path);
  if (text) return *std::move(text);
  return base::Fail(base::Code::kNotFound, fmt::format("cannot read the {} {}: {}", options_.what,
                                                       options_.path, text.error().message()));
}

}  // namespace activescale::telemetry
