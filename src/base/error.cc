#include "base/error.h"

#include <array>

namespace activescale::base {
namespace {

struct Row {
  Code code;
  int http_status;
  std::string_view kubernetes_reason;
  std::string_view name;
};

constexpr std::array<Row, 9> kRows = {{
    {Code::kInvalidArgument, 400, "BadRequest", "INVALID_ARGUMENT"},
    {Code::kDeadlineExceeded, 504, "Timeout", "DEADLINE_EXCEEDED"},
    {Code::kNotFound, 404, "NotFound", "NOT_FOUND"},
    {Code::kPermissionDenied, 403, "Forbidden", "PERMISSION_DENIED"},
    {Code::kResourceExhausted, 429, "TooManyRequests", "RESOURCE_EXHAUSTED"},
    {Code::kUnimplemented, 501, "NotImplemented", "UNIMPLEMENTED"},
    {Code::kInternal, 500, "InternalError", "INTERNAL"},
    {Code::kUnavailable, 503, "ServiceUnavailable", "UNAVAILABLE"},
    {Code::kUnauthenticated, 401, "Unauthorized", "UNAUTHENTICATED"},
}};

const Row& Find(Code code) {
  for (const Row& row : kRows) {
    if (row.code == code) return row;
  }
  return kRows[6];
}

}  // namespace

int HttpStatus(Code code) { return Find(code).http_status; }

std::string_view KubernetesReason(Code code) { return Find(code).kubernetes_reason; }

std::string_view CodeName(Code code) { return Find(code).name; }

}  // namespace activescale::base
