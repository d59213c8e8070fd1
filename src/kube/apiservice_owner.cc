#include "kube/apiservice_owner.h"

#include <fmt/format.h>

#include <utility>

#include "kube/json.h"

namespace activescale::kube {

void FindApiServiceOwner(ApiClient& api, std::string_view name,
                         std::move_only_function<void(base::Result<ApiServiceOwner>)> done) {
  api.Send(
      {.path = fmt::format("/apis/apiregistration.k8s.io/v1/apiservices/{}", name)},
      [done = std::move(done)](ApiResult<boost::json::object> answer) mutable {
        if (!answer) return done(std::unexpected(std::move(answer.error().error)));
        done(ApiServiceOwner{std::string(FindString(*answer, {"spec", "service", "namespace"})),
                             std::string(FindString(*answer, {"spec", "service", "name"}))});
      });
}

}  // namespace activescale::kube
