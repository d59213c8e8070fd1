#pragma once

#include <map>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

namespace activescale::kube {

/// One trigger of a ScaledObject.
struct ScaledTrigger {
  std::string type;         // "external"; empty: it is not written as a trigger is
  std::string metric_type;  // "AverageValue" or "Value"; empty: as the first
  bool cached = false;      // KEDA answers with what its last poll gave
  /// Of triggers that ask an external scaler. What others have is none of our business.
  std::map<std::string, std::string> metadata;

  friend bool operator==(const ScaledTrigger&, const ScaledTrigger&) = default;
};

/// What a ScaledObject of KEDA says of where the metrics of its HPA come from.
/// Source: kedacore/keda:apis/keda/v1alpha1/scaledobject_types.go, scaletriggers_types.go.
struct ScaledObject {
  std::string ns;
  std::string name;
  bool has_fallback = false;   // values of KEDA's own while a trigger fails
  bool has_modifiers = false;  // one metric is computed from several triggers
  std::vector<ScaledTrigger> triggers;

  friend bool operator==(const ScaledObject&, const ScaledObject&) = default;
};

/// Reads it as its watch shows it. Whatever is there, each trigger keeps its place.
[[nodiscard]] ScaledObject ReadScaledObject(const boost::json::object& object);

}  // namespace activescale::kube
