#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/delegated_auth_config.h"
#include "kube/reviews.h"
#include "net/http_types.h"

namespace activescale::metricsapi {

/// The user that the aggregator names in its headers; nothing if it names none. Believe it only
/// if the connection is the aggregator's. Extra keys are lower-cased and percent-decoded. A uid is
/// read only if the configuration names a header for it: older clusters do not strip it from their
/// clients' requests.
/// Source: kubernetes/apiserver:pkg/authentication/request/headerrequest/requestheader.go.
[[nodiscard]] std::optional<kube::UserInfo> ReadRequestHeaderUser(
    const net::HttpRequest& request, const kube::DelegatedAuthConfig& config);

/// The token of `Authorization: Bearer <token>`; nothing if there is none or it is empty. Valid
/// while the request is. Source: kubernetes/apiserver:.../request/bearertoken/bearertoken.go.
[[nodiscard]] std::optional<std::string_view> ReadBearerToken(const net::HttpRequest& request);

}  // namespace activescale::metricsapi
