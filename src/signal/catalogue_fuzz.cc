// Any text as the file of signals, in both dialects.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "signal/catalogue.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void Check(const activescale::signal::Catalogue& catalogue) {
  for (const auto& signal : catalogue.signals()) {
    Require(signal.expr != nullptr);
    Require(std::isfinite(signal.target) && signal.target > 0);
    Require(std::isfinite(signal.activation) && signal.activation >= 0);
    Require(!signal.fallback || (std::isfinite(*signal.fallback) && *signal.fallback >= 0));
    // No other one of that name is in the way.
    const auto found = catalogue.Find(signal.ns, signal.name);
    Require(found && *found == &signal);
  }
  const auto names = catalogue.Names();
  Require(std::ranges::is_sorted(names) && std::ranges::adjacent_find(names) == names.end());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using activescale::promql::Dialect;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const Dialect dialect : {Dialect::kPrometheus2, Dialect::kPrometheus3}) {
    const auto catalogue = activescale::signal::Catalogue::Parse(text, dialect);
    if (catalogue) {
      Check(*catalogue);
    } else {
      // A message always says where.
      Require(catalogue.error().message.starts_with("line "));
    }
  }
  return 0;
}
