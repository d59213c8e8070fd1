// What one HPA query costs: in memory, and as a client on a kept TLS connection sees it.

#include <benchmark/benchmark.h>

#include <chrono>
#include <thread>

#include "kube/testing/fake_pod_index.h"
#include "kube/testing/fake_reviews.h"
#include "metricsapi/api_handler.h"
#include "metricsapi/delegated_access.h"
#include "net/http_server.h"
#include "net/self_signed.h"
#include "net/testing/test_authority.h"
#include "net/testing/test_client.h"
#include "signal/testing/signal_fixture.h"
#include "store/embedded_store.h"

namespace activescale::metricsapi {
namespace {

const std::string kTarget =
    "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/%2A/inbound_active_requests"
    "?labelSelector=app%3Dweb";

/// The API over the embedded store, with `count` pods that have just pushed.
struct Api {
  explicit Api(int count, AccessControl* access = nullptr)
      : handler({custom, health, metrics, clock, access, "v0"}) {
    store::Flush flush;
    flush.values[0] = metric::Quantity::FromMilli(12'500);
    for (int i = 0; i < count; ++i) {
      const metric::PodKey pod{"shop", "web-5d9c7b6f4-" + std::to_string(10'000 + i)};
      index.AddPod(pod, {{"app", "web"}, {"pod-template-hash", "5d9c7b6f4"}});
      streams.push_back(store.Open(pod));
      streams.back()->Write(flush, clock.Now());
    }
  }

  base::SystemClock clock;
  telemetry::Registry registry;
  telemetry::HealthChecks checks;
  kube::FakePodIndex index;
  store::EmbeddedStore store{{.ttl = std::chrono::hours(1)}, clock, registry};
  std::vector<std::unique_ptr<store::PodStream>> streams;
  signal::SignalFixture signals{clock, registry};
  CustomMetrics custom{index, store, signals.windows(), clock, registry};
  HealthHandler health{checks, registry};
  RequestMetrics metrics{registry};
  ApiHandler handler;
};

void PodsInMemory(benchmark::State& state) {
  Api api(static_cast<int>(state.range(0)));
  size_t bytes = 0;
  for (auto _ : state) {
    net::HttpRequest request;
    request.method = "GET";
    request.target = kTarget;
    api.handler.Handle(std::move(request), [&bytes](const net::HttpResponse& response) {
      bytes = response.body.size();
    });
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(PodsInMemory)->Arg(1)->Arg(100)->Arg(1000)->Unit(benchmark::kMicrosecond);

void ListOf100Pods(benchmark::State& state) {
  const std::vector<MetricValue> values(100, {{"Pod", "v1", "shop", "web-5d9c7b6f4-10000"},
                                              std::chrono::system_clock::now(),
                                              metric::Quantity::FromMilli(12'500)});
  for (auto _ : state) {
    benchmark::DoNotOptimize(WriteMetricValueList(CustomMetricsVersion::kV1Beta2,
                                                  "inbound_active_requests", {}, values));
  }
}
BENCHMARK(ListOf100Pods)->Unit(benchmark::kMicrosecond);

void Discovery(benchmark::State& state) {
  Api api(0);
  for (auto _ : state) {
    net::HttpRequest request;
    request.method = "GET";
    request.target = "/apis/custom.metrics.k8s.io/v1beta2";
    api.handler.Handle(std::move(request),
                       [](net::HttpResponse response) { benchmark::DoNotOptimize(response); });
  }
}
BENCHMARK(Discovery)->Unit(benchmark::kMicrosecond);

/// Serves `api` over TLS on a thread and asks it on one kept connection.
void AskOverTls(benchmark::State& state, Api& api, const net::TestTls& client_tls,
                const std::vector<net::Header>& headers) {
  base::Snapshot<net::TlsContext> tls(*net::TlsContext::ForServer(*net::MakeSelfSigned(
      {"localhost"}, std::chrono::system_clock::now(), std::chrono::hours(24))));
  net::IoLoop loop;
  net::HttpServerOptions options;
  options.tls = &tls;
  options.limits.max_connection_requests = 100'000'000;
  auto server = *net::HttpServer::Listen(loop, std::move(options), api.handler, api.clock);
  std::thread thread([&loop] { loop.Run(); });
  auto client = net::TestClient::Connect(server->port(), client_tls);
  for (auto _ : state) {
    const auto answer = client->Fetch("GET", kTarget, headers);
    if (!answer || answer->status != 200)
      state.SkipWithError(answer ? answer->body.c_str() : "no answer");
  }
  client.reset();
  server.reset();
  loop.Stop();
  thread.join();
}

void PodsOverTls(benchmark::State& state) {
  Api api(static_cast<int>(state.range(0)));
  AskOverTls(state, api, {}, {{"Accept", "application/json"}});
}
BENCHMARK(PodsOverTls)->Arg(1)->Arg(100)->Arg(1000)->UseRealTime()->Unit(benchmark::kMicrosecond);

/// As the aggregator asks: its certificate is judged and the user's permission is looked up.
void PodsOverTlsWithDelegatedAccess(benchmark::State& state) {
  const net::TestAuthority authority("proxy-ca");
  auto config = std::make_shared<kube::DelegatedAuthConfig>();
  config->request_header_ca_pem = authority.certificate_pem();
  config->username_headers = {"X-Remote-User"};
  config->group_headers = {"X-Remote-Group"};
  config->allowed_names = {"proxy"};
  kube::FakeTokenReviewer tokens;
  kube::FakeAccessReviewer reviewer;
  reviewer.SetRule([](const auto&) { return kube::AccessDecision{true, ""}; });
  base::SystemClock clock;
  telemetry::Registry registry;
  Authenticator authenticator([&config] { return config; }, tokens, clock, registry, {});
  Authorizer authorizer(reviewer, clock, registry, {});
  DelegatedAccess access(authenticator, authorizer, clock);
  Api api(static_cast<int>(state.range(0)), &access);
  AskOverTls(state, api, {.client = authority.Issue({.common_name = "proxy"})},
             {{"X-Remote-User", "system:serviceaccount:kube-system:horizontal-pod-autoscaler"},
              {"X-Remote-Group", "system:serviceaccounts"},
              {"X-Remote-Group", "system:authenticated"}});
}
BENCHMARK(PodsOverTlsWithDelegatedAccess)->Arg(100)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace activescale::metricsapi
