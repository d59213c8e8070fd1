// What one HPA query costs: in memory, and as a client on a kept TLS connection sees it.

#include <benchmark/benchmark.h>

#include <chrono>
#include <thread>

#include "kube/testing/fake_pod_index.h"
#include "metricsapi/api_handler.h"
#include "net/http_server.h"
#include "net/self_signed.h"
#include "net/testing/test_client.h"
#include "store/embedded_store.h"

namespace activescale::metricsapi {
namespace {

const std::string kTarget =
    "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/%2A/inbound_active_requests"
    "?labelSelector=app%3Dweb";

/// The API over the embedded store, with `count` pods that have just pushed.
struct Api {
  explicit Api(int count) {
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
  CustomMetrics custom{index, store, clock, registry};
  HealthHandler health{checks, registry};
  RequestMetrics metrics{registry};
  ApiHandler handler{{custom, health, metrics, clock, nullptr, "v0"}};
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

void PodsOverTls(benchmark::State& state) {
  Api api(static_cast<int>(state.range(0)));
  base::Snapshot<net::TlsContext> tls(*net::TlsContext::ForServer(*net::MakeSelfSigned(
      {"localhost"}, std::chrono::system_clock::now(), std::chrono::hours(24))));
  net::IoLoop loop;
  net::HttpServerOptions options;
  options.tls = &tls;
  options.limits.max_connection_requests = 100'000'000;
  auto server = *net::HttpServer::Listen(loop, std::move(options), api.handler, api.clock);
  std::thread thread([&loop] { loop.Run(); });
  auto client = net::TestClient::Connect(server->port(), net::TestTls{});
  for (auto _ : state) {
    benchmark::DoNotOptimize(client->Fetch("GET", kTarget, {{"Accept", "application/json"}}));
  }
  client.reset();
  server.reset();
  loop.Stop();
  thread.join();
}
BENCHMARK(PodsOverTls)->Arg(1)->Arg(100)->Arg(1000)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace activescale::metricsapi
