#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace activescale::keda {

/// What a metric stands for in the HPA that KEDA made of a ScaledObject, of the same namespace.
/// Source: kedacore/keda:controllers/keda/hpa.go, pkg/scalers/scaler.go.
struct HpaMetric {
  std::string object;             // the ScaledObject's name
  std::optional<size_t> trigger;  // its index; nothing: computed from several
  std::string name;               // as the scaler calls it: without the index

  friend bool operator==(const HpaMetric&, const HpaMetric&) = default;
};

/// Reads the name and the selector of an External metric, the latter as a query has it. Nothing if
/// the metric is not one of KEDA's.
[[nodiscard]] std::optional<HpaMetric> ParseHpaMetric(std::string_view name,
                                                      std::string_view selector);

/// What KEDA's answers for a metric of a ScaledObject may stand still by: signal::StandingMoments.
/// `metric` is its name as the scaler calls it.
[[nodiscard]] std::string QuestionOf(std::string_view ns, std::string_view object,
                                     std::string_view metric);

/// Where KEDA's operator finds this process.
struct ScalerAddress {
  std::string host;     // to listen at; empty: it does not listen
  uint16_t port = 0;    // of the same
  std::string service;  // the Service of the metrics APIs
  std::string ns;       // of our pod and our Services; empty: not told
};

/// Whether a trigger's scalerAddress leads to this process: it is the address that we listen at, or
/// a host SERVICE or SERVICE-keda of our own namespace, as NAME.NAMESPACE, NAME.NAMESPACE.svc or
/// with the cluster's domain, whatever the port. A name without a namespace is one of KEDA's own.
[[nodiscard]] bool IsOurs(std::string_view address, const ScalerAddress& ours);

}  // namespace activescale::keda
