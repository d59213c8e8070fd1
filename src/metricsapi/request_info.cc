#include "metricsapi/request_info.h"

#include <span>

#include "base/ascii.h"

namespace activescale::metricsapi {

namespace {

std::string ResourceVerb(std::string_view method) {
  if (method == "GET" || method == "HEAD") return "get";
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return "delete";
  return "";
}

bool IsTrue(std::string_view text) { return text == "true" || text == "1"; }

}  // namespace

RequestInfo ResolveRequestInfo(std::string_view method, const RequestTarget& target) {
  RequestInfo info;
  info.verb = base::Lower(method);
  info.path = target.path;
  std::span<const std::string> parts = target.segments;
  const bool core = !parts.empty() && parts[0] == "api";
  const bool grouped = !parts.empty() && parts[0] == "apis";
  if (!(core && parts.size() >= 3) && !(grouped && parts.size() >= 4)) return info;

  info.is_resource = true;
  info.verb = ResourceVerb(method);
  if (grouped) info.group = parts[1];
  parts = parts.subspan(grouped ? 2 : 1);
  info.version = parts[0];
  parts = parts.subspan(1);
  if (parts[0] == "watch" || parts[0] == "proxy") {
    info.verb = parts[0];
    if (parts.size() < 2) return info;
    parts = parts.subspan(1);
  }
  if (parts[0] == "namespaces" && parts.size() > 1) {
    info.ns = parts[1];
    // `status` and `finalize` are the namespace's own subresources.
    if (parts.size() > 2 && parts[2] != "status" && parts[2] != "finalize") {
      parts = parts.subspan(2);
    }
  }
  info.resource = parts[0];
  if (parts.size() >= 2) info.name = parts[1];
  if (parts.size() >= 3 && info.verb != "proxy") info.subresource = parts[2];
  if (info.name.empty() && info.verb == "get") {
    info.verb = IsTrue(target.Parameter("watch").value_or("")) ? "watch" : "list";
  }
  if (info.name.empty() && info.verb == "delete") info.verb = "deletecollection";
  return info;
}

}  // namespace activescale::metricsapi
