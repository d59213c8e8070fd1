#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace activescale::metric {

/// The metrics that a pod's Envoy gives. The value indexes arrays of size kMetricKindCount.
enum class MetricKind : uint8_t {
  kInboundActiveRequests = 0,
  kOutboundActiveRequests = 1,
  kActiveConnections = 2,
};

inline constexpr size_t kMetricKindCount = 3;

/// Names as the Custom Metrics API serves them, in the order of MetricKind.
inline constexpr std::array<std::string_view, kMetricKindCount> kMetricNames = {
    "inbound_active_requests", "outbound_active_requests", "active_connections"};

/// What each counts.
inline constexpr std::array<std::string_view, kMetricKindCount> kMetricHelp = {
    "Requests that clients sent to the pod and that are not answered yet.",
    "Requests that the pod sent on and that are not answered yet.",
    "Connections that are open at the pod's listeners."};

[[nodiscard]] constexpr std::string_view MetricName(MetricKind kind) {
  return kMetricNames[static_cast<size_t>(kind)];
}

/// The kind of a name; nothing for an unknown one. Case matters, as in Kubernetes.
[[nodiscard]] constexpr std::optional<MetricKind> ParseMetricKind(std::string_view name) {
  for (size_t i = 0; i < kMetricKindCount; ++i) {
    if (kMetricNames[i] == name) return static_cast<MetricKind>(i);
  }
  return std::nullopt;
}

}  // namespace activescale::metric
