#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "hpa/types.h"

namespace activescale::sim {

/// What a manifest asks of the autoscaler.
struct ManifestHpa {
  std::string ns;
  std::string name;
  std::string target;  // "Deployment/web"
  hpa::HpaSpec spec;
  double polling_seconds = 0;  // of a ScaledObject's triggers with cached metrics; else 0
};

/// Reads a HorizontalPodAutoscaler (autoscaling/v2) or a KEDA ScaledObject (keda.sh/v1alpha1) from
/// YAML as it is applied; of several documents the first of these kinds. Missing fields get the
/// defaults that the apiserver and KEDA give them. A ScaledObject's triggers become External
/// metrics: `threshold` as AverageValue, or Value with metricType: Value.
/// Errors: kInvalidArgument with line and field: broken YAML, no such kind, and what the apiserver
/// would refuse (no maxReplicas, a target of 0, an empty policy list, ...).
[[nodiscard]] base::Result<ManifestHpa> ReadManifest(std::string_view yaml);

}  // namespace activescale::sim
