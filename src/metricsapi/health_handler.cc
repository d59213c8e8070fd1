#include "metricsapi/health_handler.h"

#include <string>
#include <string_view>
#include <utility>

#include "metricsapi/request_target.h"
#include "metricsapi/status.h"

namespace activescale::metricsapi {

namespace {

net::HttpResponse Text(int status, std::string body) {
  return {status, "text/plain; charset=utf-8", std::move(body), {}};
}

net::HttpResponse Alive(std::string_view name, bool verbose) {
  if (!verbose) return Text(200, "ok");
  return Text(200, "[+]ping ok\n" + std::string(name) + " check passed\n");
}

net::HttpResponse Ready(const telemetry::HealthChecks& checks, bool verbose) {
  const auto outcomes = checks.Run();
  const bool ready = telemetry::HealthChecks::AllOk(outcomes);
  if (ready && !verbose) return Text(200, "ok");
  return Text(ready ? 200 : 503, telemetry::HealthChecks::Describe(outcomes));
}

}  // namespace

void HealthHandler::Handle(net::HttpRequest request, net::HttpResponder respond) {
  respond(Answer(request));
}

net::HttpResponse HealthHandler::Answer(const net::HttpRequest& request) const {
  const auto target = ParseTarget(request.target);
  if (!target) return StatusResponse(target.error());
  const std::string_view name =
      target->segments.size() == 1 ? std::string_view(target->segments[0]) : "";
  const bool verbose = target->Parameter("verbose").has_value();
  if (name != "healthz" && name != "livez" && name != "readyz" && name != "metrics") {
    return StatusResponse({base::Code::kNotFound,
                           "nothing is served here; there are /healthz, /livez, /readyz and "
                           "/metrics"});
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return StatusResponse(405, "MethodNotAllowed", "only GET and HEAD are served here");
  }
  if (name == "readyz") return Ready(checks_, verbose);
  if (name == "metrics") {
    return {200, "text/plain; version=0.0.4; charset=utf-8", registry_.Render(), {}};
  }
  return Alive(name, verbose);
}

}  // namespace activescale::metricsapi
