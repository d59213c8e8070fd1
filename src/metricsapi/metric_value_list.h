#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "metric/quantity.h"
#include "metric/selector.h"

namespace activescale::metricsapi {

/// Versions of custom.metrics.k8s.io; they differ in the names of a few fields.
enum class CustomMetricsVersion : uint8_t { kV1Beta1, kV1Beta2 };

/// The object that a value describes. Views live until the list is written.
struct DescribedObject {
  std::string_view kind;         // "Pod"
  std::string_view api_version;  // "v1", "apps/v1"
  std::string_view ns;
  std::string_view name;
};

struct MetricValue {
  DescribedObject object;
  base::WallTime time;  // written in whole seconds
  metric::Quantity value;
};

/// A MetricValueList of one metric. `selector` is the metric selector of the request; it is
/// repeated in each item if it is not empty. A window of 0: the values are instantaneous.
/// Source: k8s.io/metrics:pkg/apis/custom_metrics/{v1beta1,v1beta2}/types.go.
[[nodiscard]] std::string WriteMetricValueList(CustomMetricsVersion version,
                                               std::string_view metric_name,
                                               const metric::Selector& selector,
                                               const std::vector<MetricValue>& values,
                                               std::chrono::seconds window = {});

/// "2006-01-02T15:04:05Z", as metav1.Time writes it.
[[nodiscard]] std::string FormatRfc3339(base::WallTime time);

}  // namespace activescale::metricsapi
