#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace activescale::sim {

/// Offered load over time: requests per second, linear between points. A value type.
class LoadShape {
 public:
  struct Point {
    double at_seconds = 0;  // since the start, >= 0
    double qps = 0;         // >= 0
  };

  LoadShape() = default;

  /// Points in order of time; two at one time make a step. Before the first and after the last the
  /// load is that point's. Errors: kInvalidArgument for no points, unordered or negative ones, with
  /// the index.
  [[nodiscard]] static base::Result<LoadShape> FromPoints(std::vector<Point> points);

  /// As FromPoints, of what was recorded. Errors also: kInvalidArgument, a gap of more than ten
  /// times the median spacing, which would be simulated as a straight line; a point is called
  /// `unit` and the first one has the number `first`.
  [[nodiscard]] static base::Result<LoadShape> FromRecording(std::vector<Point> points,
                                                             std::string_view unit, size_t first);

  /// A named shape:
  ///   tc1      60 s at 100, then 240 s at 1,000
  ///   tc2      50, 200, 600, 400, 800, 100, each for 90 s
  ///   k6-loki  virtual users of Grafana's test: 5 to 50 in 2 min, 50 for 1 min, twice up to 100
  ///   and
  ///            back in 30 s + 30 s, to 0 in 2 min
  ///   step, ramp, spikes (an hour), diurnal (a week with quieter nights and weekends)
  /// Errors: kInvalidArgument, naming the known ones.
  [[nodiscard]] static base::Result<LoadShape> Named(std::string_view name);
  [[nodiscard]] static std::vector<std::string_view> Names();

  /// CSV with a header: `time,qps` or `time,inflight`; time in seconds or RFC 3339, ascending. With
  /// in-flight the load is what keeps that many in flight at `latency_seconds` each.
  /// Errors: kInvalidArgument with line and column: unordered or negative times, values that are no
  /// numbers, gaps of more than ten times the median spacing.
  [[nodiscard]] static base::Result<LoadShape> FromCsv(std::string_view text,
                                                       double latency_seconds);

  [[nodiscard]] double QpsAt(double seconds) const;
  [[nodiscard]] double duration_seconds() const;
  [[nodiscard]] double max_qps() const;
  [[nodiscard]] const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

}  // namespace activescale::sim
