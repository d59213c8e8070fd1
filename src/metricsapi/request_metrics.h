#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "metricsapi/request_info.h"
#include "telemetry/registry.h"

namespace activescale::metricsapi {

/// Counts answered requests by verb, resource and code, and how long they took. The label values
/// come from short lists, whatever clients ask for. Threads: any.
class RequestMetrics {
 public:
  /// What a request is counted as.
  struct Series {
    size_t verb = 0;
    size_t resource = 0;
  };

  explicit RequestMetrics(telemetry::Registry& registry);

  [[nodiscard]] static Series SeriesOf(const RequestInfo& info);
  void Count(Series series, int code, std::chrono::nanoseconds took);

 private:
  static constexpr size_t kVerbs = 4;
  static constexpr size_t kResources = 5;
  static constexpr size_t kCodes = 11;

  telemetry::Registry& registry_;
  /// Made when first needed: most combinations never happen.
  std::array<std::atomic<telemetry::Counter*>, kVerbs * kResources * kCodes> counters_{};
  std::array<telemetry::Histogram*, kResources> durations_{};
};

}  // namespace activescale::metricsapi
