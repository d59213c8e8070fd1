#include "promql/histogram_quantile.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "promql/literal.h"
#include "promql/numeric.h"

namespace activescale::promql {
namespace {

/// Differences between counts below this share are the work of rounding.
constexpr double kTolerance = 1e-12;

bool AlmostEqual(double a, double b) {
  if (a == b) return true;
  const double sum = std::abs(a) + std::abs(b);
  constexpr double kSmallestNormal = std::numeric_limits<double>::min();
  if (a == 0 || b == 0 || sum < kSmallestNormal) {
    return std::abs(a - b) < kTolerance * kSmallestNormal;
  }
  return std::abs(a - b) / std::min(sum, std::numeric_limits<double>::max()) < kTolerance;
}

void JoinEqualBounds(std::vector<Bucket>& buckets) {
  size_t last = 0;
  for (size_t i = 1; i < buckets.size(); ++i) {
    if (buckets[i].upper_bound == buckets[last].upper_bound) {
      buckets[last].count += buckets[i].count;
    } else {
      buckets[++last] = buckets[i];
    }
  }
  buckets.resize(last + 1);
}

/// Counts may only grow from bucket to bucket; scrapes in between can break that.
void MakeMonotonic(std::vector<Bucket>& buckets, Dialect dialect) {
  double before = buckets[0].count;
  for (Bucket& bucket : buckets) {
    const bool noise = dialect == Dialect::kPrometheus3 && AlmostEqual(before, bucket.count);
    if (noise || bucket.count < before) {
      bucket.count = before;
    } else {
      before = bucket.count;
    }
  }
}

}  // namespace

std::optional<double> ParseBucketBound(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (EqualsIgnoringCase(text, "infinity")) text = "inf";
  const auto value = ParseDecimal(text);
  return value && negative ? -*value : value;
}

double BucketQuantile(double q, std::vector<Bucket> buckets, Dialect dialect) {
  if (std::isnan(q)) return kNan;
  if (q < 0) return -kInfinity;
  if (q > 1) return kInfinity;
  std::ranges::stable_sort(buckets, {}, &Bucket::upper_bound);
  if (buckets.back().upper_bound != kInfinity) return kNan;
  JoinEqualBounds(buckets);
  MakeMonotonic(buckets, dialect);
  if (buckets.size() < 2 || buckets.back().count == 0) return kNan;
  double rank = q * buckets.back().count;
  const auto found = std::partition_point(buckets.begin(), buckets.end() - 1,
                                          [&](const Bucket& b) { return !(b.count >= rank); });
  const auto at = static_cast<size_t>(found - buckets.begin());
  if (at == buckets.size() - 1) return buckets[at - 1].upper_bound;
  if (at == 0 && buckets[0].upper_bound <= 0) return buckets[0].upper_bound;
  double start = 0;
  double count = buckets[at].count;
  if (at > 0) {
    start = buckets[at - 1].upper_bound;
    count -= buckets[at - 1].count;
    rank -= buckets[at - 1].count;
  }
  return start + (buckets[at].upper_bound - start) * (rank / count);
}

}  // namespace activescale::promql
