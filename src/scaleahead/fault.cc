#include "scaleahead/fault.h"

#include <fmt/format.h>

#include "scaleahead/decision.h"

namespace activescale::scaleahead {

std::string FaultText(Hold hold, const kube::HpaObject& hpa, const std::string& not_ours) {
  switch (hold) {
    case Hold::kBadAnnotation:
      return fmt::format(
          "the annotation {} is \"{}\"; it can be \"true\", \"observe\" or \"false\"", kAnnotation,
          hpa.annotations.find(kAnnotation)->second.substr(0, 64));
    case Hold::kNoTarget:
      return fmt::format(
          "no {} {} in {} is known; steps ahead are for Deployments and "
          "StatefulSets of apps/v1 in watched namespaces",
          hpa.target.kind, hpa.target.name, hpa.target.api_version);
    case Hold::kSharedTarget:
      return fmt::format("another HPA scales {} {}, too", hpa.target.kind, hpa.target.name);
    case Hold::kNoMetricOfOurs:
      return fmt::format("none of its metrics is answered by Activescale{}{}",
                         not_ours.empty() ? "" : ": ", not_ours);
    default:
      return {};
  }
}

}  // namespace activescale::scaleahead
