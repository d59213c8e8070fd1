#include "insight/dashboard_handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/json_text.h"
#include "base/percent.h"
#include "kube/ip_address.h"

namespace activescale::insight {
namespace {

using net::HttpResponse;

/// Nothing but our own files, no script in the page itself, in no other site's frame.
const std::vector<net::Header>& SafeHeaders() {
  static const std::vector<net::Header> headers = {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
       "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
       "require-trusted-types-for 'script'; trusted-types 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Referrer-Policy", "no-referrer"},
      {"Cache-Control", "no-store"}};
  return headers;
}

/// The decoded parts of a path without its first slash and its query; nothing if an escape is
/// broken.
std::optional<std::vector<std::string>> SplitPath(std::string_view target) {
  target = target.substr(0, target.find('?'));
  if (!target.starts_with('/')) return std::nullopt;
  target.remove_prefix(1);
  std::vector<std::string> parts;
  while (true) {
    const size_t slash = target.find('/');
    auto part = base::PercentDecode(target.substr(0, slash));
    if (!part) return std::nullopt;
    parts.push_back(*std::move(part));
    if (slash == std::string_view::npos) return parts;
    target.remove_prefix(slash + 1);
  }
}

/// "localhost" of "localhost:8080", "::1" of "[::1]:8080"; in lower case.
std::string NameOf(std::string_view host) {
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  return base::Lower(host);
}

}  // namespace

bool IsOurHost(std::string_view host, const HostRules& rules) {
  const std::string name = NameOf(host);
  if (name == "localhost" || std::ranges::find(rules.names, name) != rules.names.end()) return true;
  const auto address = kube::IpAddress::Parse(name);
  if (!address) return false;
  return rules.any_address || name == "::1" || address->ToString().starts_with("127.");
}

HttpResponse DashboardError(int status, std::string_view message) {
  return {status, "text/plain; charset=utf-8", std::string(message) + "\n", SafeHeaders()};
}

DashboardHandler::DashboardHandler(HostRules hosts, std::span<const PageFile> files,
                                   DashboardFeed& feed, telemetry::Registry& registry)
    : hosts_(std::move(hosts)),
      files_(files),
      feed_(feed),
      refused_hosts_(registry.AddCounter("activescale_dashboard_refused_requests_total",
                                         "Requests that the dashboard refused, by reason.",
                                         {{"reason", "host"}})),
      refused_requests_(registry.AddCounter("activescale_dashboard_refused_requests_total",
                                            "Requests that the dashboard refused, by reason.",
                                            {{"reason", "request"}})) {}

void DashboardHandler::Handle(net::HttpRequest request, net::HttpResponder respond) {
  HttpResponse response = Answer(request);
  if (response.status >= 400 && response.status != 403) refused_requests_.Increment();
  respond(std::move(response));
}

HttpResponse DashboardHandler::Answer(const net::HttpRequest& request) {
  if (!IsOurHost(request.FindHeader("Host"), hosts_)) {
    refused_hosts_.Increment();
    return DashboardError(
        403,
        "this is the dashboard of Activescale, which was asked for under a name "
        "that is not its own (the header Host): open it as http://localhost:PORT/");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return DashboardError(405, "the dashboard only shows: GET and HEAD");
  }
  const auto parts = SplitPath(request.target);
  if (!parts) return DashboardError(400, "the path has a broken escape");
  const std::string path = "/" + parts->front();
  if (parts->size() == 1) {
    for (const PageFile& file : files_) {
      if (file.path != path) continue;
      return {200, std::string(file.content_type), std::string(file.body), SafeHeaders()};
    }
  }
  return AnswerData(*parts, request.method == "HEAD");
}

HttpResponse DashboardHandler::AnswerData(std::span<const std::string> parts, bool head) {
  if (parts.front() == "history") return AnswerHistory(parts.subspan(1));
  const bool whole = parts.size() == 1;
  if (parts.front() != "events" || (!whole && parts.size() != 3)) {
    return DashboardError(404, "the dashboard has no such page");
  }
  HttpResponse response{200, "text/event-stream", "", SafeHeaders()};
  if (head) return response;
  response.stream = whole ? feed_.WatchOverview() : feed_.WatchWorkload(parts[1], parts[2]);
  return response;
}

HttpResponse DashboardHandler::AnswerHistory(std::span<const std::string> parts) {
  std::optional<size_t> metric;
  if (parts.empty() || parts.size() % 2 == 0 || parts.size() > 1 + 2 * kMaxHistories) {
    return DashboardError(
        400, fmt::format("a history is asked for as /history/METRIC/NAMESPACE/NAME..., of at most "
                         "{} workloads",
                         kMaxHistories));
  }
  if (parts.front() != "all") {
    const std::string& text = parts.front();
    if (text.size() != 1 || text[0] < '0' ||
        text[0] >= static_cast<char>('0' + metric::kMetricKindCount)) {
      return DashboardError(400, "a history is of the metric 0, 1 or 2, or of all");
    }
    metric = static_cast<size_t>(text[0] - '0');
  }
  std::vector<LoadHistory::Name> names;
  for (size_t i = 1; i + 1 < parts.size(); i += 2) names.push_back({parts[i], parts[i + 1]});
  return {200, "application/json", feed_.History(names, metric), SafeHeaders()};
}

}  // namespace activescale::insight
