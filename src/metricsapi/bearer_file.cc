#include "metricsapi/bearer_file.h"

#include <fmt/format.h>

#include <utility>

#include "base/file_text.h"
#include "metricsapi/request_header.h"
#include "net/digest.h"

namespace activescale::metricsapi {

void BearerFile::Check(const net::HttpRequest& request, const RequestInfo& /*info*/,
                       Decision done) {
  const auto wanted = base::ReadTokenFile(path_);
  if (!wanted) {
    return done(base::Fail(base::Code::kUnavailable,
                           fmt::format("the token file {} cannot be read or is empty", path_)));
  }
  const auto token = ReadBearerToken(request);
  if (!token) {
    return done(base::Fail(base::Code::kUnauthenticated,
                           "a token is needed: send \"Authorization: Bearer <token>\""));
  }
  // Digests, so that the time of the comparison tells nothing of the token.
  if (net::Sha256(*token) != net::Sha256(*wanted)) {
    return done(base::Fail(base::Code::kUnauthenticated, "the token is not the right one"));
  }
  done(kube::UserInfo());
}

}  // namespace activescale::metricsapi
