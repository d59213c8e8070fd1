#pragma once

#include <string>
#include <string_view>

#include "metricsapi/request_target.h"

namespace activescale::metricsapi {

/// What a request means to Kubernetes' authorization: a verb on a resource, or on a path.
struct RequestInfo {
  bool is_resource = false;
  std::string verb;  // "get", "list", "watch", "create", ...; of a path the method in lower case
  std::string ns;
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string name;
  std::string path;  // for a request on no resource
};

/// Reads it from method and path by the rules of kube-apiserver, whatever is served here: both
/// sides of the aggregator must ask for the same permission.
/// Source: kubernetes/apiserver:pkg/endpoints/request/requestinfo.go.
[[nodiscard]] RequestInfo ResolveRequestInfo(std::string_view method, const RequestTarget& target);

}  // namespace activescale::metricsapi
