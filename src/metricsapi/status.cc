#include "metricsapi/status.h"

#include "base/json_text.h"

namespace activescale::metricsapi {

namespace {

void AppendMember(std::string_view key, std::string_view value, std::string& out) {
  if (value.empty()) return;
  if (out.back() != '{') out += ',';
  base::AppendJsonString(key, out);
  out += ':';
  base::AppendJsonString(value, out);
}

}  // namespace

net::HttpResponse StatusResponse(int code, std::string_view reason, std::string_view message,
                                 const StatusDetails& details) {
  net::HttpResponse response;
  response.status = code;
  std::string& out = response.body;
  out = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure")";
  AppendMember("message", message, out);
  AppendMember("reason", reason, out);
  out += R"(,"details":{)";
  AppendMember("group", details.group, out);
  AppendMember("kind", details.kind, out);
  AppendMember("name", details.name, out);
  out += R"(},"code":)" + std::to_string(code) + "}\n";
  return response;
}

net::HttpResponse StatusResponse(const base::Error& error, const StatusDetails& details) {
  return StatusResponse(base::HttpStatus(error.code), base::KubernetesReason(error.code),
                        error.message, details);
}

net::HttpResponse RenderHttpError(int status, std::string_view message) {
  switch (status) {
    case 413:
      return StatusResponse(status, "RequestEntityTooLarge", message);
    case 431:
      return StatusResponse(status, "BadRequest", message);
    default:
      return StatusResponse(status, status < 500 ? "BadRequest" : "InternalError", message);
  }
}

}  // namespace activescale::metricsapi
