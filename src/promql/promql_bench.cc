// The query that scales Loki's queriers, over 1,000 series of two minutes at one sample in 5 s.

#include <benchmark/benchmark.h>

#include <string>

#include "base/clock.h"
#include "base/unix_time.h"
#include "promql/engine.h"
#include "promql/parser.h"
#include "series/series_store.h"

namespace activescale::promql {
namespace {

constexpr char kQuery[] =
    "sum(max_over_time(cortex_query_scheduler_inflight_requests{namespace=~\"prod\", "
    "quantile=\"0.75\"}[2m]))";
constexpr int kSeries = 1000;
constexpr int kSamples = 24;

void Fill(series::SeriesStore& store, int64_t now_ms) {
  using series::Matcher;
  store.Keep({*Matcher::Make(Matcher::Op::kMatch, "__name__", "cortex_.*")}, std::chrono::hours(1));
  for (int i = 0; i < kSeries; ++i) {
    const metric::Labels labels({{"__name__", "cortex_query_scheduler_inflight_requests"},
                                 {"namespace", "prod"},
                                 {"pod", "query-scheduler-" + std::to_string(i)},
                                 {"quantile", "0.75"}});
    for (int j = kSamples; j > 0; --j) {
      store.Append(labels, {now_ms - j * 5000, static_cast<double>((i * j) % 40)});
    }
  }
}

void SeedQuery(benchmark::State& state) {
  const base::SystemClock clock;
  series::SeriesStore store({}, clock);
  const int64_t now_ms = base::UnixMsNow(clock);
  Fill(store, now_ms);
  const Engine engine({}, store, clock);
  for (auto _ : state) {
    auto result = engine.Query(kQuery, EvaluationTime::At(now_ms - 1));
    if (!result || result->series.size() != 1) state.SkipWithError("no answer");
    benchmark::DoNotOptimize(result);
  }
  state.SetItemsProcessed(state.iterations() * kSeries * kSamples);
}
BENCHMARK(SeedQuery)->Unit(benchmark::kMicrosecond);

void ParseSeedQuery(benchmark::State& state) {
  for (auto _ : state) {
    auto expr = Parse(kQuery);
    benchmark::DoNotOptimize(expr);
  }
}
BENCHMARK(ParseSeedQuery)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace activescale::promql
