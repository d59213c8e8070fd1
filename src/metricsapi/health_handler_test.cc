#include "metricsapi/health_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace activescale::metricsapi {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class HealthHandlerTest : public testing::Test {
 protected:
  net::HttpResponse Ask(const std::string& target, const std::string& method = "GET") {
    net::HttpRequest request;
    request.method = method;
    request.target = target;
    std::optional<net::HttpResponse> answer;
    handler_.Handle(std::move(request),
                    [&answer](net::HttpResponse response) { answer = std::move(response); });
    return answer.value_or(net::HttpResponse{0, "", "no answer", {}});
  }

  telemetry::HealthChecks checks_;
  telemetry::Registry registry_;
  HealthHandler handler_{checks_, registry_};
};

TEST_F(HealthHandlerTest, IsReadyOnlyWhileEveryCheckIsAndSaysWhichIsNot) {
  bool ok = true;
  checks_.Add("store", [&ok] { return telemetry::CheckResult{ok, "embedded"}; });
  EXPECT_EQ(Ask("/readyz").status, 200);
  EXPECT_EQ(Ask("/readyz").body, "ok");
  EXPECT_EQ(Ask("/readyz?verbose").body, "[+]store ok: embedded\nreadyz check passed\n");
  ok = false;
  for (const char* target : {"/readyz", "/readyz?verbose", "/readyz/"}) {
    const auto answer = Ask(target);
    EXPECT_EQ(answer.status, 503) << target;
    EXPECT_THAT(answer.body,
                AllOf(HasSubstr("[-]store failed: embedded"), HasSubstr("readyz check failed")));
  }
}

TEST_F(HealthHandlerTest, IsAliveWhateverTheChecksSay) {
  checks_.Add("store", [] { return telemetry::CheckResult{false, "away"}; });
  for (const char* target : {"/livez", "/healthz", "/livez?verbose", "/healthz?verbose=1"}) {
    EXPECT_EQ(Ask(target).status, 200) << target;
  }
  EXPECT_EQ(Ask("/livez").body, "ok");
  EXPECT_THAT(Ask("/livez?verbose").body, HasSubstr("livez check passed"));
  EXPECT_EQ(Ask("/livez").content_type, "text/plain; charset=utf-8");
}

TEST_F(HealthHandlerTest, ServesMetricsAndNothingElse) {
  registry_.AddCounter("activescale_test_total", "help").Increment();
  const auto metrics = Ask("/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(metrics.body, HasSubstr("activescale_test_total 1"));
  for (const char* target : {"/", "/apis", "/apis/custom.metrics.k8s.io/v1beta2", "/version",
                             "/metrics/x", "/debug/pprof", "/livezz"}) {
    EXPECT_EQ(Ask(target).status, 404) << target;
    EXPECT_THAT(Ask(target).body, HasSubstr("\"kind\":\"Status\"")) << target;
  }
  EXPECT_EQ(Ask("/%zz").status, 400);
  EXPECT_EQ(Ask("/livez", "POST").status, 405);
  EXPECT_EQ(Ask("/livez", "HEAD").status, 200);
}

}  // namespace
}  // namespace activescale::metricsapi
