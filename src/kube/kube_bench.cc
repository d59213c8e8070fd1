#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include <boost/json/parse.hpp>

#include "kube/object_stream.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/pod_generator.h"
#include "kube/watch_pod_index.h"

namespace activescale::kube {
namespace {

constexpr size_t kFillerBytes = 8'000;

void SelectHundredPods(benchmark::State& state) {
  base::SystemClock clock;
  PodStore store;
  for (size_t n = 0; n < static_cast<size_t>(state.range(0)); ++n) {
    store.Upsert(ParsePod(boost::json::parse(GeneratedPod(n, 0)).as_object()), clock);
  }
  const auto selector = *metric::Selector::Parse("app=service-0,app.kubernetes.io/instance=prod");
  size_t pods = 0;
  for (auto _ : state) pods += store.Select("namespace-0", selector).size();
  state.counters["pods"] = static_cast<double>(pods) / static_cast<double>(state.iterations());
}
BENCHMARK(SelectHundredPods)->Arg(100)->Arg(10'000);

void ReadAPod(benchmark::State& state) {
  const std::string event = EventJson("MODIFIED", GeneratedPod(1, kFillerBytes));
  size_t events = 0;
  ObjectStream stream(ObjectStream::Form::kWatch, PodMask(), size_t{4} << 20,
                      [&events](const boost::json::object& object) {
                        benchmark::DoNotOptimize(ParsePod(object));
                        ++events;
                      });
  for (auto _ : state) {
    if (!stream.Feed(event)) state.SkipWithError("not read");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * event.size()));
}
BENCHMARK(ReadAPod);

/// From the first request until all is indexed; the server, on the other core, makes the JSON.
void FirstListOfTenThousandPods(benchmark::State& state) {
  for (auto _ : state) {
    base::SystemClock clock;
    telemetry::Registry registry;
    net::HttpClient http;
    FakeApiServer server;
    server.On("LIST /api/v1/pods", ListGeneratedPods(10'000, kFillerBytes));
    server.On("WATCH /api/v1/pods", [&http](const net::HttpRequest&, FakeApiServer::Reply& reply) {
      http.Stop();
      reply.Hang();
    });
    ApiClient api(http, server.access(), clock);
    WatchPodIndex index({.api = api,
                         .registry = registry,
                         .clock = clock,
                         .random = [] { return 0.5; },
                         .watcher = {}},
                        {});
    index.Start();
    http.Run();
    if (!index.Health().ok) state.SkipWithError("not listed");
  }
}
BENCHMARK(FirstListOfTenThousandPods)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
}  // namespace activescale::kube

BENCHMARK_MAIN();
