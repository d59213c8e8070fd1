#pragma once

#include <functional>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "kube/api_client.h"
#include "kube/object_stream.h"

namespace activescale::insight {

/// One GET at the API server, waited for. `path` comes with its query.
using GetJson = std::function<kube::ApiResult<boost::json::object>(const std::string& path)>;

/// Asks the API server for all that the controller looks at in one sync of an HPA: the object, its
/// target's scale, the pods that the scale selects, what the metrics APIs answer, and the HPA's
/// events. The result is the JSON text that ReadSnapshot reads and that can be saved and sent to
/// somebody: it holds only members that an explanation needs, no annotations, environment or
/// images.
/// A metric that cannot be read becomes an error within the document, as the controller has it.
/// Errors: those of the first three questions, without which there is nothing to explain.
[[nodiscard]] base::Result<std::string> Collect(const GetJson& get, const std::string& ns,
                                                const std::string& name, base::WallTime now);

/// Every page of the pods that a selector matches, reduced to `mask`. Errors: those of a page.
[[nodiscard]] kube::ApiResult<boost::json::array> ListPods(const GetJson& get,
                                                           const std::string& ns,
                                                           const std::string& selector,
                                                           const kube::FieldMask& mask);

}  // namespace activescale::insight
