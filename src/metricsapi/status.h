#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "net/http_types.h"

namespace activescale::metricsapi {

/// What a failed request was about, for the Status's `details`; empty members are left out.
struct StatusDetails {
  std::string group;
  std::string kind;  // the resource, e.g. "pods"
  std::string name;
};

/// A failure as metav1.Status in JSON. Never a Retry-After: it would make client-go repeat a
/// request by itself and hold up the HPA's sync.
/// Source: kubernetes/apimachinery:pkg/apis/meta/v1/types.go.
[[nodiscard]] net::HttpResponse StatusResponse(const base::Error& error,
                                               const StatusDetails& details = {});

/// The same for an HTTP status that base::Code does not have (405, 413, 431).
[[nodiscard]] net::HttpResponse StatusResponse(int code, std::string_view reason,
                                               std::string_view message,
                                               const StatusDetails& details = {});

/// For net::HttpServerOptions::render_error.
[[nodiscard]] net::HttpResponse RenderHttpError(int status, std::string_view message);

}  // namespace activescale::metricsapi
