#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kube/api_client.h"

namespace activescale::kube {

/// The Service that an APIService sends its requests to; both empty if kube-apiserver serves it.
struct ApiServiceOwner {
  std::string ns;
  std::string service;
};

/// Asks who serves the APIService `name`, such as "v1beta1.external.metrics.k8s.io". Errors:
/// kNotFound: there is no such APIService; others: it could not be read. `done` runs on the loop of
/// `api`.
void FindApiServiceOwner(ApiClient& api, std::string_view name,
                         std::move_only_function<void(base::Result<ApiServiceOwner>)> done);

}  // namespace activescale::kube
