#include "signal/reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "promql/numeric.h"

namespace activescale::signal {
namespace {

using base::Code;

/// The largest sample that is taken at ingest, too.
constexpr double kMaxValue = 1e12;

telemetry::Counter& OutcomeCounter(telemetry::Registry& registry, const std::string& outcome) {
  return registry.AddCounter("activescale_signal_readings_total",
                             "Readings of signals and queries for autoscalers, by outcome.",
                             {{"outcome", outcome}});
}

metric::Labels WithoutName(const metric::Labels& labels) {
  std::vector<metric::Labels::Entry> entries = labels.entries();
  std::erase_if(entries, [](const auto& entry) { return entry.first == series::kNameLabel; });
  return metric::Labels(std::move(entries));
}

metric::Labels Merge(const metric::Labels& labels, const metric::Labels& added) {
  std::vector<metric::Labels::Entry> entries = labels.entries();
  std::ranges::copy(added.entries(), std::back_inserter(entries));
  return metric::Labels(std::move(entries));
}

/// An expression that cannot be evaluated is our fault, not that of who asks for the signal.
base::Error Classify(base::Error error) {
  if (error.code == Code::kInvalidArgument) {
    error = {Code::kInternal, "the expression cannot be evaluated: " + error.message};
  }
  return error;
}

base::Result<std::vector<Reading>> ToReadings(const promql::QueryResult& result) {
  std::vector<Reading> readings;
  if (result.type == promql::ValueType::kScalar) readings.push_back({{}, result.scalar});
  for (const promql::ResultSeries& series : result.series) {
    readings.push_back({WithoutName(series.labels), series.points.at(0).value});
  }
  // What 0 / 0 gives: there is nothing to divide yet.
  std::erase_if(readings, [](const Reading& reading) { return std::isnan(reading.value); });
  if (readings.empty()) {
    return base::Fail(Code::kNotFound,
                      "the expression has no value now: it selects no series with samples, or "
                      "gives NaN; this is not zero");
  }
  for (const Reading& reading : readings) {
    if (reading.value >= 0 && reading.value <= kMaxValue) continue;
    return base::Fail(Code::kInternal,
                      fmt::format("the expression gives {}, and a value must be from 0 to 10^12; "
                                  "clamp_min(..., 0) keeps differences in it",
                                  promql::FormatValue(reading.value)));
  }
  return readings;
}

}  // namespace

SignalReader::SignalReader(const Evaluator& evaluator, telemetry::Registry& registry)
    : evaluator_(evaluator),
      served_(OutcomeCounter(registry, "served")),
      missing_(OutcomeCounter(registry, "missing")),
      failed_(OutcomeCounter(registry, "failed")),
      fallbacks_(OutcomeCounter(registry, "fallback")) {}

base::Result<std::vector<Reading>> SignalReader::Read(const promql::Expr& expr,
                                                      const Scope& scope) const {
  const auto result = evaluator_.EvaluateNow(expr, scope);
  auto readings = result ? ToReadings(*result) : std::unexpected(Classify(result.error()));
  if (readings) {
    served_.Increment();
  } else {
    (readings.error().code == Code::kNotFound ? missing_ : failed_).Increment();
  }
  return readings;
}

base::Result<std::vector<Reading>> SignalReader::Read(const Signal& signal,
                                                      std::optional<int64_t> at_ms) const {
  auto readings =
      Read(*signal.expr, {.ns = "", .partial_window = signal.partial_window, .at_ms = at_ms});
  if (!readings && signal.fallback) {
    fallbacks_.Increment();
    return std::vector<Reading>{{signal.labels, *signal.fallback}};
  }
  if (!readings) {
    return base::Fail(readings.error().code,
                      fmt::format("signal {}: {}", signal.name, readings.error().message));
  }
  for (Reading& reading : *readings) reading.labels = Merge(reading.labels, signal.labels);
  return readings;
}

base::Result<double> SingleValue(const std::vector<Reading>& readings) {
  if (readings.size() == 1) return readings[0].value;
  return base::Fail(
      Code::kInvalidArgument,
      fmt::format("the expression gives {} series where one value is needed; sum(...) "
                  "or max(...) makes one of them",
                  readings.size()));
}

}  // namespace activescale::signal
