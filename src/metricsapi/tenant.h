#pragma once

#include <string>

#include "base/error.h"
#include "kube/reviews.h"

namespace activescale::metricsapi {

/// The namespace that a caller is confined to where each sees its own alone: that of a service
/// account; "", all of them, for the group system:masters. Errors: kPermissionDenied: anybody else,
/// who has no namespace.
/// Source: kubernetes/apiserver:pkg/authentication/serviceaccount/util.go, SplitUsername.
[[nodiscard]] base::Result<std::string> TenantNamespace(const kube::UserInfo& caller);

}  // namespace activescale::metricsapi
