#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "promql/dialect.h"

namespace activescale::promql {

/// How many observations were at most `upper_bound`.
struct Bucket {
  double upper_bound = 0;
  double count = 0;
};

/// The value of an `le` label; nothing if it is no number.
[[nodiscard]] std::optional<double> ParseBucketBound(std::string_view text);

/// The q-quantile of a histogram, interpolated inside of the bucket it falls in. NaN without a
/// bucket to +Inf, of fewer than two buckets, without observations, and for q = NaN.
/// Source: prometheus/prometheus:promql/quantile.go, BucketQuantile.
[[nodiscard]] double BucketQuantile(double q, std::vector<Bucket> buckets, Dialect dialect);

}  // namespace activescale::promql
