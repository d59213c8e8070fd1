// 1,000 signals over 10,000 series of two minutes at one sample in 5 s: all of them are to be
// evaluated each second on less than half a core.

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/unix_time.h"
#include "series/series_store.h"
#include "signal/catalogue.h"
#include "signal/evaluator.h"
#include "signal/reading.h"
#include "telemetry/registry.h"

namespace activescale::signal {
namespace {

constexpr int kSignals = 1000;
constexpr int kSeriesPerSignal = 10;
constexpr int kSamples = 24;

void AllSignals(benchmark::State& state) {
  const base::SystemClock clock;
  telemetry::Registry registry;
  series::SeriesStore store({.max_bytes = size_t{256} << 20}, clock);
  store.Keep({*series::Matcher::Make(series::Matcher::Op::kEqual, "__name__", "inflight")},
             std::chrono::hours(1));
  std::string yaml = "signals:\n";
  const int64_t now_ms = base::UnixMsNow(clock);
  for (int i = 0; i < kSignals; ++i) {
    const std::string name = "s" + std::to_string(i);
    yaml.append("- {name: ")
        .append(name)
        .append(", target: 4, partial_window: serve, expression: ");
    yaml.append("'sum(max_over_time(inflight{namespace=\"").append(name).append("\"}[2m]))'}\n");
    for (int j = 0; j < kSeriesPerSignal; ++j) {
      const metric::Labels labels(
          {{"__name__", "inflight"}, {"namespace", name}, {"pod", "pod-" + std::to_string(j)}});
      for (int k = kSamples; k > 0; --k) {
        store.Append(labels, {now_ms - k * 5000, static_cast<double>((i + j * k) % 40)});
      }
    }
  }
  const auto catalogue = Catalogue::Parse(yaml, promql::Dialect::kPrometheus3);
  const Evaluator evaluator({}, store, nullptr, clock);
  const SignalReader reader(evaluator, registry);
  for (auto _ : state) {
    for (const Signal& signal : catalogue->signals()) {
      auto readings = reader.Read(signal);
      if (!readings) return state.SkipWithError(readings.error().message.c_str());
      benchmark::DoNotOptimize(readings);
    }
  }
  state.SetItemsProcessed(state.iterations() * kSignals);
}
BENCHMARK(AllSignals)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace activescale::signal
