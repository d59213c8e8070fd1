#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sim/history.h"

namespace activescale::sim {

/// A query over a span of the past, as Prometheus's HTTP API takes it. Times in seconds since 1970.
struct RangeQuery {
  std::string url;  // "http://prometheus:9090", perhaps with a path
  std::string query;
  int64_t start = 0;
  int64_t end = 0;  // included
  int64_t step = 60;
};

/// The URLs that together ask for it: Prometheus gives at most 11,000 points a series at once.
/// Errors: kInvalidArgument, a URL that is none or that carries a password, an empty query.
[[nodiscard]] base::Result<std::vector<std::string>> RangeUrls(const RangeQuery& query);

/// Puts the answers to RangeUrls together. Source: prometheus/prometheus:docs/querying/api.md.
class RangeAnswers {
 public:
  /// The next answer, in the order of the URLs. Errors: what Prometheus says went wrong;
  /// kInvalidArgument, a sample below 0, which no amount of work is. Samples that are NaN or
  /// infinite count as missing.
  [[nodiscard]] base::Result<void> Add(int http_status, std::string_view body);

  /// One series a set of labels. Errors: kNotFound, no sample at all.
  [[nodiscard]] base::Result<std::vector<HistorySeries>> Take() &&;

 private:
  std::map<std::string, HistorySeries> by_labels_;
};

}  // namespace activescale::sim
