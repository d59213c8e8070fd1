#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "metric/pod_key.h"
#include "series/series_source.h"

namespace activescale::signal {

/// One number for a window of samples.
struct WindowStatistic {
  enum class Kind : uint8_t { kMax, kAvg, kMin, kQuantile, kLast };
  Kind kind = Kind::kMax;
  double quantile = 0;  // of kQuantile, 0 to 1
  std::chrono::milliseconds window{0};

  /// "2m" and "max", "avg", "min", "last", or "p75" (a percentile, "p99.9" too).
  /// Errors: kInvalidArgument.
  [[nodiscard]] static base::Result<WindowStatistic> Parse(std::string_view window,
                                                           std::string_view stat);
};

/// Statistics over the recent past of what pods' Envoys push, computed from the series. Asking for
/// a metric of a namespace begins its recording. Threads: any, if the source allows it.
class WindowReader {
 public:
  /// Both must outlive it.
  WindowReader(series::SeriesSource& series, const base::Clock& clock)
      : series_(series), clock_(clock) {}

  /// For each pod of one namespace the statistic of its samples; nothing for one without a sample
  /// in the window. A pod younger than the window has a shorter one. Errors: kNotFound: the window
  /// has not been observed whole; what the source reports.
  [[nodiscard]] base::Result<std::vector<std::optional<double>>> OfEach(
      std::string_view metric, const std::vector<metric::PodKey>& pods,
      const WindowStatistic& statistic) const;

  /// The statistic of the sum over the pods, taken each second. Errors: as OfEach; kNotFound also
  /// if no pod has a sample.
  [[nodiscard]] base::Result<double> OfSum(std::string_view metric,
                                           const std::vector<metric::PodKey>& pods,
                                           const WindowStatistic& statistic) const;

 private:
  using SeriesOfPods = std::vector<std::shared_ptr<const series::Series>>;

  /// One entry a pod, null for one without a series.
  [[nodiscard]] base::Result<SeriesOfPods> Find(std::string_view metric,
                                                const std::vector<metric::PodKey>& pods,
                                                const WindowStatistic& statistic,
                                                int64_t now_ms) const;

  series::SeriesSource& series_;
  const base::Clock& clock_;
};

}  // namespace activescale::signal
