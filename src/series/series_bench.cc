// How fast samples are taken in, and how large they are.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "series/series_store.h"

namespace activescale::series {
namespace {

/// Appends one flush after the other of `state.range(0)` series, as sources do: by labels.
void Append(benchmark::State& state) {
  const base::SystemClock clock;
  SeriesStore store({.max_bytes = size_t{1} << 30}, clock);
  store.Keep({*Matcher::Make(Matcher::Op::kEqual, "__name__", "inbound_active_requests")},
             std::chrono::minutes(10));
  std::vector<metric::Labels> labels;
  for (int i = 0; i < state.range(0); ++i) {
    labels.push_back(metric::Labels({{"__name__", "inbound_active_requests"},
                                     {"cluster", "inbound"},
                                     {"namespace", "default"},
                                     {"pod", "checkout-7d9f8b6c5-" + std::to_string(i)},
                                     {"workload", "checkout"}}));
  }
  int64_t time = 0;
  for (auto _ : state) {
    time += 5000;
    for (size_t i = 0; i < labels.size(); ++i) {
      store.Append(labels[i],
                   {time, static_cast<double>((i + static_cast<size_t>(time / 5000)) % 9)});
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  const auto stored = store.stats().samples_by_outcome[0];
  state.counters["bytes_a_sample_with_index"] =
      static_cast<double>(store.stats().bytes) / static_cast<double>(stored);
}
BENCHMARK(Append)->Arg(100)->Arg(10'000)->Unit(benchmark::kMicrosecond);

/// What nobody asked for, which is most of what an Envoy sends.
void NotWanted(benchmark::State& state) {
  const base::SystemClock clock;
  SeriesStore store({}, clock);
  store.Keep({*Matcher::Make(Matcher::Op::kEqual, "__name__", "inbound_active_requests")},
             std::chrono::minutes(10));
  const metric::Labels labels({{"__name__", "other"}, {"pod", "checkout-7d9f8b6c5-1"}});
  for (auto _ : state) benchmark::DoNotOptimize(store.Append(labels, {1, 1}));
}
BENCHMARK(NotWanted);

}  // namespace
}  // namespace activescale::series
