#include "base/error.h"

#include <gtest/gtest.h>

namespace activescale::base {
namespace {

struct Case {
  Code code;
  int grpc;
  int http;
  std::string_view reason;
};

TEST(ErrorTest, EveryCodeHasItsGrpcHttpAndKubernetesForm) {
  const Case cases[] = {
      {Code::kInvalidArgument, 3, 400, "BadRequest"},
      {Code::kDeadlineExceeded, 4, 504, "Timeout"},
      {Code::kNotFound, 5, 404, "NotFound"},
      {Code::kPermissionDenied, 7, 403, "Forbidden"},
      {Code::kResourceExhausted, 8, 429, "TooManyRequests"},
      {Code::kUnimplemented, 12, 501, "NotImplemented"},
      {Code::kInternal, 13, 500, "InternalError"},
      {Code::kUnavailable, 14, 503, "ServiceUnavailable"},
      {Code::kUnauthenticated, 16, 401, "Unauthorized"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(static_cast<int>(c.code), c.grpc) << CodeName(c.code);
    EXPECT_EQ(HttpStatus(c.code), c.http) << CodeName(c.code);
    EXPECT_EQ(KubernetesReason(c.code), c.reason) << CodeName(c.code);
  }
}

}  // namespace
}  // namespace activescale::base
