#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "net/http_types.h"

namespace activescale::queryapi {

/// Kinds of failure, as Prometheus names them.
/// Source: prometheus/prometheus:web/api/v1/errors.go.
enum class ErrorType : uint8_t {
  kBadData,
  kExecution,
  kTimeout,
  kUnavailable,
  kNotFound,
  kInternal,
  kUnauthorized,
  kForbidden,
};
inline constexpr size_t kErrorTypes = 8;

/// As in the JSON, and as a label value: "bad_data".
[[nodiscard]] std::string_view ErrorTypeName(ErrorType type);

struct Fault {
  ErrorType type = ErrorType::kInternal;
  std::string message;
};

/// What goes under "data", as JSON, and what the reader should know of it.
struct Reply {
  std::string data;
  std::vector<std::string> warnings;
};

using Outcome = std::expected<Reply, Fault>;

[[nodiscard]] inline std::unexpected<Fault> BadData(std::string message) {
  return std::unexpected(Fault{ErrorType::kBadData, std::move(message)});
}

/// Why an evaluation has no answer.
[[nodiscard]] Fault EvaluationFault(const base::Error& error);

[[nodiscard]] net::HttpResponse Render(const Outcome& outcome);

/// What never reaches the API, because its sender may not, or its bytes are no request, in the
/// API's form.
[[nodiscard]] net::HttpResponse Refuse(const base::Error& error);
[[nodiscard]] net::HttpResponse RenderHttpError(int status, std::string_view message);

}  // namespace activescale::queryapi
