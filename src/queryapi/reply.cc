#include "queryapi/reply.h"

#include "base/json_text.h"

namespace activescale::queryapi {
namespace {

struct TypeRow {
  std::string_view name;
  int status;
};
constexpr TypeRow kTypes[kErrorTypes] = {
    {"bad_data", 400},  {"execution", 422}, {"timeout", 503},      {"unavailable", 503},
    {"not_found", 404}, {"internal", 500},  {"unauthorized", 401}, {"forbidden", 403},
};

const TypeRow& Row(ErrorType type) { return kTypes[static_cast<size_t>(type)]; }

net::HttpResponse RenderFault(int status, std::string_view type, std::string_view message) {
  net::HttpResponse response;
  response.status = status;
  response.body = R"({"status":"error","errorType":")";
  response.body += type;
  response.body += R"(","error":)";
  base::AppendJsonString(message, response.body);
  response.body += '}';
  return response;
}

ErrorType TypeOf(base::Code code) {
  switch (code) {
    case base::Code::kInvalidArgument:
    case base::Code::kResourceExhausted:
    case base::Code::kUnimplemented:
      return ErrorType::kExecution;
    case base::Code::kDeadlineExceeded:
      return ErrorType::kTimeout;
    // Nothing known of what was asked for: no answer either, above all not an empty one.
    case base::Code::kUnavailable:
    case base::Code::kNotFound:
      return ErrorType::kUnavailable;
    case base::Code::kUnauthenticated:
      return ErrorType::kUnauthorized;
    case base::Code::kPermissionDenied:
      return ErrorType::kForbidden;
    case base::Code::kInternal:
      break;
  }
  return ErrorType::kInternal;
}

}  // namespace

std::string_view ErrorTypeName(ErrorType type) { return Row(type).name; }

Fault EvaluationFault(const base::Error& error) { return {TypeOf(error.code), error.message}; }

net::HttpResponse Render(const Outcome& outcome) {
  if (!outcome) {
    const TypeRow& row = Row(outcome.error().type);
    return RenderFault(row.status, row.name, outcome.error().message);
  }
  net::HttpResponse response;
  response.body = R"({"status":"success","data":)";
  response.body += outcome->data;
  if (!outcome->warnings.empty()) {
    response.body += R"(,"warnings":[)";
    for (const std::string& warning : outcome->warnings) {
      if (response.body.back() != '[') response.body += ',';
      base::AppendJsonString(warning, response.body);
    }
    response.body += ']';
  }
  response.body += '}';
  return response;
}

net::HttpResponse Refuse(const base::Error& error) {
  net::HttpResponse response = Render(std::unexpected(EvaluationFault(error)));
  if (response.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

net::HttpResponse RenderHttpError(int status, std::string_view message) {
  return RenderFault(status, status < 500 ? "bad_data" : "internal", message);
}

}  // namespace activescale::queryapi
