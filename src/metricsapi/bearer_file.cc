#include "metricsapi/bearer_file.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "kube/file_text.h"
#include "metricsapi/request_header.h"
#include "net/digest.h"

namespace activescale::metricsapi {

void BearerFile::Check(const net::HttpRequest& request, const RequestInfo& /*info*/,
                       Decision done) {
  const std::string text = kube::ReadFile(path_).value_or("");
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) {
    return done(base::Fail(base::Code::kUnavailable,
                           fmt::format("the token file {} cannot be read or is empty", path_)));
  }
  const auto token = ReadBearerToken(request);
  if (!token) {
    return done(base::Fail(base::Code::kUnauthenticated,
                           "a token is needed: send \"Authorization: Bearer <token>\""));
  }
  // Digests, so that the time of the comparison tells nothing of the token.
  if (net::Sha256(*token) != net::Sha256(std::string_view(text).substr(0, end + 1))) {
    return done(base::Fail(base::Code::kUnauthenticated, "the token is not the right one"));
  }
  done({});
}

}  // namespace activescale::metricsapi
