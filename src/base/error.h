#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace activescale::base {

/// What went wrong, by the canonical set of gRPC, so that every edge (gRPC, HTTP, Kubernetes
/// Status) maps it by one table. The values are gRPC's.
/// Source: grpc/grpc:include/grpc/status.h; HTTP and reasons: apimachinery's metav1.StatusReason.
enum class Code : uint8_t {
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kUnauthenticated = 16,
};

/// A failure as a value. `message` is for a person: what was tried, on what, and what to do.
struct Error {
  Code code = Code::kInternal;
  std::string message;
};

/// The value, or why there is none. Expected absence is std::optional, not an Error.
template <typename T>
using Result = std::expected<T, Error>;

/// Shorthand for returning a failure: `return Fail(Code::kNotFound, "...")`.
[[nodiscard]] inline std::unexpected<Error> Fail(Code code, std::string message) {
  return std::unexpected<Error>(Error{code, std::move(message)});
}

/// HTTP status of a code, e.g. 404 for kNotFound.
[[nodiscard]] int HttpStatus(Code code);

/// Kubernetes' StatusReason of a code, e.g. "NotFound".
[[nodiscard]] std::string_view KubernetesReason(Code code);

/// Name of a code as gRPC writes it, e.g. "NOT_FOUND".
[[nodiscard]] std::string_view CodeName(Code code);

}  // namespace activescale::base
