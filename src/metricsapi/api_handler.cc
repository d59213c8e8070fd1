#include "metricsapi/api_handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "metricsapi/status.h"

namespace activescale::metricsapi {

namespace {

net::HttpResponse Json(std::string body) {
  net::HttpResponse response;
  response.body = std::move(body);
  return response;
}

net::HttpResponse NotFound(const std::string& path) {
  return StatusResponse({base::Code::kNotFound, fmt::format("nothing is served at {}", path)});
}

}  // namespace

/// One request on its way.
struct ApiHandler::Call {
  net::HttpRequest request;
  RequestTarget target;
  RequestInfo info;
  net::HttpResponder respond;
};

ApiHandler::ApiHandler(Parts parts)
    : parts_(std::move(parts)),
      custom_group_(CustomMetricsGroup()),
      version_text_(WriteVersion(parts_.version)) {}

std::vector<ApiGroup> ApiHandler::Groups() const {
  std::vector<ApiGroup> groups = {custom_group_};
  if (parts_.external_metrics != nullptr) groups.push_back(parts_.external_metrics->Group());
  return groups;
}

bool ApiHandler::IsRead(const RequestTarget& target) const {
  const std::vector<std::string>& segments = target.segments;
  if (segments.size() <= 3 || segments[0] != "apis") return false;
  if (segments[1] == kExternalMetricsGroup) {
    return parts_.external_metrics != nullptr && segments[2] == "v1beta1";
  }
  return segments[1] == custom_group_.name &&
         std::ranges::find(custom_group_.versions, segments[2]) != custom_group_.versions.end();
}

void ApiHandler::Handle(net::HttpRequest request, net::HttpResponder respond) {
  const base::SteadyTime begin = parts_.clock.Now();
  auto target = ParseTarget(request.target);
  RequestInfo info;
  if (target) info = ResolveRequestInfo(request.method, *target);
  respond = [this, begin, series = RequestMetrics::SeriesOf(info),
             respond = std::move(respond)](net::HttpResponse response) mutable {
    parts_.metrics.Count(series, response.status, parts_.clock.Now() - begin);
    respond(std::move(response));
  };
  if (!target) return respond(StatusResponse(target.error()));

  auto call = std::make_unique<Call>(
      Call{std::move(request), *std::move(target), std::move(info), std::move(respond)});
  if (parts_.access == nullptr) return Route(std::move(call));
  const Call& checked = *call;
  parts_.access->Check(
      checked.request, checked.info,
      [this, call = std::move(call)](base::Result<kube::UserInfo> caller) mutable {
        if (caller) return Route(std::move(call));
        const RequestInfo& about = call->info;
        call->respond(StatusResponse(caller.error(), {about.group, about.resource, about.name}));
      });
}

void ApiHandler::Route(std::unique_ptr<Call> call) {
  const std::vector<std::string>& segments = call->target.segments;
  static constexpr std::array<std::string_view, 4> kHealth = {"healthz", "livez", "readyz",
                                                              "metrics"};
  if (segments.size() == 1 && std::ranges::find(kHealth, segments[0]) != kHealth.end()) {
    return parts_.health.Handle(std::move(call->request), std::move(call->respond));
  }
  const bool read = IsRead(call->target);
  auto discovery = read ? std::nullopt : AnswerDiscovery(call->target);
  if (!read && !discovery) return call->respond(NotFound(call->target.path));
  if (call->request.method != "GET") {
    auto refused = StatusResponse(405, "MethodNotAllowed",
                                  call->request.method + " is not served here, only GET");
    refused.headers.emplace_back("Allow", "GET");
    return call->respond(std::move(refused));
  }
  if (discovery) return call->respond(*std::move(discovery));
  if (segments[1] == kExternalMetricsGroup) return ReadExternal(std::move(call));
  auto query = ParseCustomMetricsQuery(call->target);
  if (!query) {
    const RequestInfo& about = call->info;
    return call->respond(StatusResponse(query.error(), {about.group, about.resource, about.name}));
  }
  parts_.custom_metrics.Read(*std::move(query), std::move(call->respond));
}

void ApiHandler::ReadExternal(std::unique_ptr<Call> call) const {
  auto query = ParseExternalMetricsQuery(call->target);
  if (query) return parts_.external_metrics->Read(*std::move(query), std::move(call->respond));
  const RequestInfo& about = call->info;
  call->respond(StatusResponse(query.error(), {about.group, about.resource, about.name}));
}

std::optional<net::HttpResponse> ApiHandler::AnswerDiscovery(const RequestTarget& target) const {
  const std::vector<std::string>& segments = target.segments;
  if (segments.size() == 1 && segments[0] == "version") return Json(version_text_);
  if (segments.empty() || segments[0] != "apis") return std::nullopt;
  const std::vector<ApiGroup> groups = Groups();
  if (segments.size() == 1) return Json(WriteGroupList(groups));
  const auto group = std::ranges::find(groups, segments[1], &ApiGroup::name);
  if (group == groups.end()) return std::nullopt;
  if (segments.size() == 2) return Json(WriteGroup(*group));
  const auto version = std::ranges::find(group->versions, segments[2]);
  if (segments.size() > 3 || version == group->versions.end()) return std::nullopt;
  return Json(WriteResourceList(*group, *version));
}

}  // namespace activescale::metricsapi
