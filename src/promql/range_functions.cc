#include "promql/range_functions.h"

#include <algorithm>
#include <cmath>

#include "promql/numeric.h"

namespace activescale::promql {
namespace {

using series::Sample;

/// The seconds that the samples stand for: from the first to the last, and on to the window's edges
/// where these are about one sample's distance away. A counter is never taken back beyond its zero.
double ExtrapolatedSeconds(const Window& window, double increase, bool counter) {
  const auto& samples = window.samples;
  const double sampled = static_cast<double>(samples.back().time_ms - samples[0].time_ms) / 1000;
  const double average = sampled / static_cast<double>(samples.size() - 1);
  const double threshold = average * 1.1;
  double to_start = static_cast<double>(samples[0].time_ms - window.start_ms) / 1000;
  double to_end = static_cast<double>(window.end_ms - samples.back().time_ms) / 1000;
  const bool v3 = window.dialect == Dialect::kPrometheus3;
  if (v3 && to_start >= threshold) to_start = average / 2;
  if (counter && increase > 0 && samples[0].value >= 0) {
    to_start = std::min(to_start, sampled * (samples[0].value / increase));
  }
  if (!v3 && to_start >= threshold) to_start = average / 2;
  if (to_end >= threshold) to_end = average / 2;
  return sampled + to_start + to_end;
}

std::optional<double> Extrapolated(const Window& window, bool counter, bool per_second) {
  const auto& samples = window.samples;
  if (samples.size() < 2) return std::nullopt;
  double increase = samples.back().value - samples[0].value;
  if (counter) {
    for (size_t i = 1; i < samples.size(); ++i) {
      if (samples[i].value < samples[i - 1].value) increase += samples[i - 1].value;
    }
  }
  const double sampled = static_cast<double>(samples.back().time_ms - samples[0].time_ms) / 1000;
  double factor = ExtrapolatedSeconds(window, increase, counter) / sampled;
  if (per_second) factor /= static_cast<double>(window.range_ns) / 1e9;
  return increase * factor;
}

std::optional<double> BetweenLastTwo(const Window& window, bool per_second) {
  if (window.samples.size() < 2) return std::nullopt;
  const Sample& last = window.samples.back();
  const Sample& before = window.samples[window.samples.size() - 2];
  const bool reset = per_second && last.value < before.value;
  const double change = reset ? last.value : last.value - before.value;
  if (!per_second) return change;
  return change / (static_cast<double>(last.time_ms - before.time_ms) / 1000);
}

struct Line {
  double slope;
  double at_origin;
};

/// Least squares, with seconds from `origin_ms` as x.
Line Regression(std::span<const Sample> samples, int64_t origin_ms) {
  const double first = samples[0].value;
  const bool flat = std::ranges::all_of(samples, [&](const Sample& s) { return s.value == first; });
  if (samples.size() == 1 || flat) {
    return std::isinf(first) ? Line{kNan, kNan} : Line{0, first};
  }
  CompensatedSum x_sum;
  CompensatedSum y_sum;
  CompensatedSum xy_sum;
  CompensatedSum xx_sum;
  for (const Sample& sample : samples) {
    const double x = static_cast<double>(sample.time_ms - origin_ms) / 1000;
    x_sum.Add(x);
    y_sum.Add(sample.value);
    xy_sum.Add(x * sample.value);
    xx_sum.Add(x * x);
  }
  const auto n = static_cast<double>(samples.size());
  const double covariance = xy_sum.value() - x_sum.value() * y_sum.value() / n;
  const double variance = xx_sum.value() - x_sum.value() * x_sum.value() / n;
  const double slope = covariance / variance;
  return {slope, y_sum.value() / n - slope * x_sum.value() / n};
}

std::optional<double> Trend(const Window& window, bool predict) {
  if (window.samples.size() < 2) return std::nullopt;
  if (!predict) return Regression(window.samples, window.samples[0].time_ms).slope;
  const Line line = Regression(window.samples, window.eval_ms);
  return line.slope * window.param + line.at_origin;
}

/// The largest value, or with `sign` = -1 the smallest; NaN only of NaNs.
double Extreme(std::span<const Sample> samples, double sign) {
  double extreme = samples[0].value;
  for (const Sample& sample : samples) {
    if (sign * sample.value > sign * extreme || std::isnan(extreme)) extreme = sample.value;
  }
  return extreme;
}

double SumOf(std::span<const Sample> samples) {
  CompensatedSum sum;
  for (const Sample& sample : samples) sum.Add(sample.value);
  return std::isinf(sum.rough()) ? sum.rough() : sum.value();
}

template <typename Accumulator>
double Accumulate(std::span<const Sample> samples) {
  Accumulator accumulator;
  for (const Sample& sample : samples) accumulator.Add(sample.value);
  return accumulator.value();
}

/// How many samples `differs` from the one before.
template <typename Differs>
double CountSteps(std::span<const Sample> samples, Differs differs) {
  int count = 0;
  for (size_t i = 1; i < samples.size(); ++i) {
    if (differs(samples[i - 1].value, samples[i].value)) ++count;
  }
  return count;
}

double QuantileOf(const Window& window, std::vector<double>& scratch) {
  scratch.clear();
  for (const Sample& sample : window.samples) scratch.push_back(sample.value);
  return Quantile(window.param, scratch);
}

}  // namespace

std::optional<double> ApplyToWindow(FunctionId function, const Window& window,
                                    std::vector<double>& scratch) {
  const auto& samples = window.samples;
  using Id = FunctionId;
  switch (function) {
    case Id::kRate:
      return Extrapolated(window, true, true);
    case Id::kIncrease:
      return Extrapolated(window, true, false);
    case Id::kDelta:
      return Extrapolated(window, false, false);
    case Id::kIrate:
      return BetweenLastTwo(window, true);
    case Id::kIdelta:
      return BetweenLastTwo(window, false);
    case Id::kDeriv:
      return Trend(window, false);
    case Id::kPredictLinear:
      return Trend(window, true);
    case Id::kAvgOverTime:
      return Accumulate<CompensatedMean>(samples);
    case Id::kSumOverTime:
      return SumOf(samples);
    case Id::kMaxOverTime:
      return Extreme(samples, 1);
    case Id::kMinOverTime:
      return Extreme(samples, -1);
    case Id::kStdvarOverTime:
      return Accumulate<Variance>(samples);
    case Id::kStddevOverTime:
      return std::sqrt(Accumulate<Variance>(samples));
    case Id::kQuantileOverTime:
      return QuantileOf(window, scratch);
    case Id::kCountOverTime:
      return static_cast<double>(samples.size());
    case Id::kLastOverTime:
      return samples.back().value;
    case Id::kPresentOverTime:
    case Id::kAbsentOverTime:  // turned around by the evaluator, over all series
      return 1;
    case Id::kResets:
      return CountSteps(samples, [](double before, double now) { return now < before; });
    case Id::kChanges:
      return CountSteps(samples, [](double before, double now) {
        return now != before && !(std::isnan(now) && std::isnan(before));
      });
    default:
      return std::nullopt;
  }
}

}  // namespace activescale::promql
