#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"
#include "ingest/node.h"
#include "metric/labels.h"
#include "metric/pod_key.h"

namespace activescale::ingest {

/// The pod that a stream speaks for, and what its Envoy says about it.
struct Identity {
  metric::PodKey pod;
  metric::Labels labels;
  size_t ignored_labels = 0;  // not legal in Kubernetes, or too many
  std::string workload_name;  // of the Deployment, StatefulSet, ...; "" if not known
  std::string cluster_id;     // "" if not known
  std::string pod_ip;         // "" if not known
};

/// Labels of a pod that are kept at most; real pods have about ten.
inline constexpr size_t kMaxLabels = 256;

/// The pod by metadata NAME and NAMESPACE; if either is missing or empty, both by a node id in
/// Istio's form `<type>~<ip>~<pod>.<namespace>~<namespace>.svc.<domain>`, for every type. There
/// the namespace of the last field splits the third one from the right, since pods may have dots
/// in their names.
/// Errors: kInvalidArgument if there is no such pair, or a name that Kubernetes would not accept.
/// Source: istio/istio:pkg/model/proxy.go, ServiceNode and ParseServiceNodeWithMetadata.
[[nodiscard]] base::Result<Identity> IdentityOf(Node node);

}  // namespace activescale::ingest
