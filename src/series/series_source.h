#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.h"
#include "series/matcher.h"
#include "series/series.h"

namespace activescale::series {

/// What a query gets for one selector.
struct Selection {
  std::vector<std::shared_ptr<const Series>> series;
  /// From this moment on every sample that the selector means has been recorded, so that a window
  /// that starts earlier is not whole. A series that began later was not there before.
  int64_t observed_since_ms = kMinTime;
};

/// Where queries find their series.
class SeriesSource {
 public:
  virtual ~SeriesSource() = default;

  /// All series that match and may have samples in [min_ms, max_ms], in the order in which they
  /// first appeared. Errors: kUnavailable: the data is away; never an empty answer instead.
  [[nodiscard]] virtual base::Result<Selection> Select(const Matchers& matchers, int64_t min_ms,
                                                       int64_t max_ms) = 0;
};

}  // namespace activescale::series
