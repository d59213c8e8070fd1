#include "signal/window_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/duration.h"
#include "base/unix_time.h"
#include "promql/literal.h"
#include "promql/numeric.h"

namespace activescale::signal {
namespace {

using base::Code;
using base::Fail;
using Kind = WindowStatistic::Kind;

constexpr std::chrono::hours kLongestWindow{1};
constexpr int64_t kStepMs = 1000;
/// How old a pod's sample may be and still be its value, as for an instant selector. Pods that fall
/// silent are marked stale long before.
constexpr int64_t kLookbackMs = 5 * 60 * 1000;

/// Of at least one value, in order of time.
double Compute(const WindowStatistic& statistic, std::vector<double>& values) {
  switch (statistic.kind) {
    case Kind::kMax:
      return *std::ranges::max_element(values);
    case Kind::kMin:
      return *std::ranges::min_element(values);
    case Kind::kAvg:
      return std::accumulate(values.begin(), values.end(), 0.0) /
             static_cast<double>(values.size());
    case Kind::kQuantile:
      return promql::Quantile(statistic.quantile, values);
    case Kind::kLast:
      break;
  }
  return values.back();
}

/// Adds a pod's value at each step to the sums; counts the pods that have one there.
void AddSteps(const series::Series& pod, int64_t first_ms, std::vector<double>& sums,
              std::vector<size_t>& pods) {
  std::vector<series::Sample> samples;
  const auto last_ms = first_ms + kStepMs * static_cast<int64_t>(sums.size() - 1);
  pod.ForEach(first_ms - kLookbackMs, last_ms,
              [&](const series::Sample& sample) { samples.push_back(sample); });
  size_t next = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    const int64_t at_ms = first_ms + kStepMs * static_cast<int64_t>(i);
    while (next < samples.size() && samples[next].time_ms <= at_ms) ++next;
    if (next == 0) continue;
    const series::Sample& newest = samples[next - 1];
    if (series::IsStaleMarker(newest.value) || newest.time_ms <= at_ms - kLookbackMs) continue;
    sums[i] += newest.value;
    ++pods[i];
  }
}

}  // namespace

base::Result<WindowStatistic> WindowStatistic::Parse(std::string_view window,
                                                     std::string_view stat) {
  WindowStatistic statistic;
  const auto duration = base::ParseDuration(window);
  if (!duration || *duration < std::chrono::seconds(1) || *duration > kLongestWindow) {
    return Fail(Code::kInvalidArgument,
                fmt::format("window \"{}\" is not a duration from 1s to 1h, such as 2m", window));
  }
  statistic.window = std::chrono::duration_cast<std::chrono::milliseconds>(*duration);
  constexpr std::pair<std::string_view, Kind> kNames[] = {
      {"max", Kind::kMax}, {"avg", Kind::kAvg}, {"min", Kind::kMin}, {"last", Kind::kLast}};
  for (const auto& [name, kind] : kNames) {
    if (stat != name) continue;
    statistic.kind = kind;
    return statistic;
  }
  const auto percent =
      stat.starts_with('p') ? promql::ParseDecimal(stat.substr(1)) : std::optional<double>();
  if (!percent || !(*percent >= 0 && *percent <= 100)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("stat \"{}\" is not max, avg, min, last or p0 to p100", stat));
  }
  statistic.kind = Kind::kQuantile;
  statistic.quantile = *percent / 100;
  return statistic;
}

base::Result<WindowReader::SeriesOfPods> WindowReader::Find(std::string_view metric,
                                                            const std::vector<metric::PodKey>& pods,
                                                            const WindowStatistic& statistic,
                                                            int64_t now_ms) const {
  SeriesOfPods found(pods.size());
  if (pods.empty()) return found;
  using series::Matcher;
  // The whole namespace, whichever pods are asked for: they come and go, the recording stays.
  auto name =
      Matcher::Make(Matcher::Op::kEqual, std::string(series::kNameLabel), std::string(metric));
  auto ns = Matcher::Make(Matcher::Op::kEqual, "namespace", pods.front().ns);
  if (!name || !ns) return std::unexpected(!name ? name.error() : ns.error());
  const int64_t first_ms = now_ms - statistic.window.count();
  const auto selection = series_.Select({*name, *ns}, first_ms, now_ms);
  if (!selection) return std::unexpected(selection.error());
  if (selection->observed_since_ms > first_ms) {
    return Fail(Code::kNotFound,
                fmt::format("the window of {} has been observed for {} only: its recording began "
                            "with the first question for it",
                            base::FormatDuration(statistic.window),
                            base::FormatDuration(std::chrono::milliseconds(
                                std::max<int64_t>(now_ms - selection->observed_since_ms, 0)))));
  }
  std::unordered_map<std::string_view, size_t> index;
  for (size_t i = 0; i < pods.size(); ++i) index.emplace(pods[i].name, i);
  for (const auto& series : selection->series) {
    const auto at = index.find(series->labels().Get("pod").value_or(""));
    if (at != index.end()) found[at->second] = series;
  }
  return found;
}

base::Result<std::vector<std::optional<double>>> WindowReader::OfEach(
    std::string_view metric, const std::vector<metric::PodKey>& pods,
    const WindowStatistic& statistic) const {
  const int64_t now_ms = base::UnixMsNow(clock_);
  const auto found = Find(metric, pods, statistic, now_ms);
  if (!found) return std::unexpected(found.error());
  std::vector<std::optional<double>> values(pods.size());
  std::vector<double> samples;
  for (size_t i = 0; i < pods.size(); ++i) {
    if ((*found)[i] == nullptr) continue;
    samples.clear();
    (*found)[i]->ForEach(now_ms - statistic.window.count() + 1, now_ms,
                         [&](const series::Sample& sample) {
                           if (!series::IsStaleMarker(sample.value)) {
                             samples.push_back(sample.value);
                           }
                         });
    if (!samples.empty()) values[i] = Compute(statistic, samples);
  }
  return values;
}

base::Result<double> WindowReader::OfSum(std::string_view metric,
                                         const std::vector<metric::PodKey>& pods,
                                         const WindowStatistic& statistic) const {
  const int64_t now_ms = base::UnixMsNow(clock_);
  const auto found = Find(metric, pods, statistic, now_ms);
  if (!found) return std::unexpected(found.error());
  const auto steps = static_cast<size_t>(statistic.window.count() / kStepMs);
  std::vector<double> sums(steps, 0.0);
  std::vector<size_t> counts(steps, 0);
  for (const auto& series : *found) {
    if (series) AddSteps(*series, now_ms - kStepMs * static_cast<int64_t>(steps - 1), sums, counts);
  }
  std::vector<double> known;
  for (size_t i = 0; i < steps; ++i) {
    if (counts[i] > 0) known.push_back(sums[i]);
  }
  if (known.empty()) {
    return Fail(Code::kNotFound, fmt::format("none of {} pods has a sample of {} in the window",
                                             pods.size(), metric));
  }
  return Compute(statistic, known);
}

}  // namespace activescale::signal
