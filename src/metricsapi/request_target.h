#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace activescale::metricsapi {

/// A request's target taken apart: percent-decoded path segments and query parameters.
struct RequestTarget {
  std::string path;                                        // as sent, without the query
  std::vector<std::string> segments;                       // "/apis/x/" has two
  std::vector<std::pair<std::string, std::string>> query;  // in the order sent

  /// The first value of a parameter; nothing if it is absent. Valid while this is.
  [[nodiscard]] std::optional<std::string_view> Parameter(std::string_view name) const;
};

/// Parses an origin-form target. A segment is decoded by itself, so that an encoded slash never
/// makes another one. Kubernetes names no object ".", ".." or with "/" or "%" in it, hence these
/// are refused, as are empty segments (but for one at the end), control characters, bytes that are
/// not UTF-8 and broken escapes. In the query `+` is a space; a ";" is refused as Go does. Errors:
/// kInvalidArgument, naming the fault and where it is. Source: RFC 3986;
/// kubernetes/apimachinery:pkg/api/validation/path/name.go.
[[nodiscard]] base::Result<RequestTarget> ParseTarget(std::string_view target);

}  // namespace activescale::metricsapi
