#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "base/error.h"
#include "hpa/types.h"

namespace activescale::kube {

/// An object that an HPA names.
struct ObjectRef {
  std::string api_version;  // "apps/v1"
  std::string kind;
  std::string name;

  /// "apps"; "" for the core group. Valid while this is.
  [[nodiscard]] std::string_view group() const {
    const size_t slash = api_version.find('/');
    return std::string_view(api_version).substr(0, slash == std::string::npos ? 0 : slash);
  }
};

/// Where the controller gets one metric from.
struct MetricSource {
  std::string selector;   // of the metric, as a query has it; "" for none
  std::string container;  // ContainerResource: the one container that counts
  ObjectRef object;       // Object: what the metric describes
};

/// One condition of the HPA's status: what the controller said of its last sync.
struct Condition {
  std::string type;
  std::string status;
  std::string reason;
  std::string message;
  std::string since;  // as Kubernetes writes it
};

/// The parts of a HorizontalPodAutoscaler (autoscaling/v2) that decide or that tell what the
/// controller did.
struct HpaObject {
  std::string ns;
  std::string name;
  std::string uid;
  bool deleting = false;  // it has a deletionTimestamp
  /// Those of activescale.io and autoscaling.keda.sh alone.
  std::map<std::string, std::string, std::less<>> annotations;
  ObjectRef target;
  hpa::HpaSpec spec;
  std::vector<MetricSource> sources;  // one for each of spec.metrics
  std::vector<Condition> conditions;
  int32_t desired_replicas = 0;  // of the last sync

  /// The condition of that type; null if the controller has not set it.
  [[nodiscard]] const Condition* FindCondition(std::string_view type) const;
};

/// Reads the object as kube-apiserver gives it: checked and with its defaults filled in. A metric
/// of type ContainerResource becomes a Resource metric whose source names the container.
/// Errors: kInvalidArgument, naming the field that is missing or of no known kind.
[[nodiscard]] base::Result<HpaObject> ReadHpa(const boost::json::object& object);

/// A LabelSelector as the text of a query: "a=b,c in (d,e),!f".
[[nodiscard]] std::string SelectorText(const boost::json::object& selector);

/// The path at which the controller asks for a Pods or Object metric, below `root`, a version of
/// the custom metrics API. `resource`: of the object, with its group ("deployments.apps"). `pods`:
/// the selector of the target's pods.
[[nodiscard]] std::string CustomMetricPath(std::string_view root, std::string_view ns,
                                           const hpa::MetricSpec& spec, const MetricSource& source,
                                           std::string_view resource, std::string_view pods);

/// "Pods inbound_active_requests", "Object queue of Service/front", "Resource cpu of container
/// app".
[[nodiscard]] std::string MetricTitle(const hpa::MetricSpec& spec, const MetricSource& source);

}  // namespace activescale::kube
