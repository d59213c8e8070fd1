#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "series/metadata_book.h"

namespace activescale::queryapi {

/// What several sources tell of metrics, each different thing once, as the API has it.
/// Source: prometheus/prometheus:web/api/v1/api.go, metricMetadata.
class MetadataList {
 public:
  struct Limits {
    std::string_view metric;  // the only one; empty: all
    size_t metrics = std::numeric_limits<size_t>::max();
    size_t per_metric = std::numeric_limits<size_t>::max();
  };

  explicit MetadataList(const Limits& limits) : limits_(limits) {}

  /// `metrics` must outlive this.
  void Add(const std::vector<series::MetricMetadata>& metrics);

  /// `{"up":[{"type":"gauge","help":"...","unit":""}],...}`, by name.
  [[nodiscard]] std::string Render() const;

 private:
  struct Less {
    bool operator()(const series::MetricMetadata* a, const series::MetricMetadata* b) const {
      return *a < *b;
    }
  };

  const Limits limits_;
  std::map<std::string_view, std::set<const series::MetricMetadata*, Less>> by_name_;
};

}  // namespace activescale::queryapi
