#include "sim/recommend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/simulation.h"
#include "sim/summary.h"

namespace activescale::sim {
namespace {

constexpr int32_t kLeastMin = 2;
constexpr int32_t kLeastMax = 20;
constexpr std::array<int32_t, 4> kWindows = {60, 300, 900, 1800};
// A daily rhythm turns twice; as often again is no flapping yet.
constexpr double kCalmTurnsADay = 4;

double Mean(const HistorySeries& series) {
  double sum = 0;
  for (const auto& sample : series.samples) sum += sample.value;
  return sum / static_cast<double>(series.samples.size());
}

double Maximum(const std::vector<HistorySeries>& all) {
  double most = 0;
  for (const HistorySeries& series : all) {
    for (const auto& sample : series.samples) most = std::max(most, sample.value);
  }
  return most;
}

void Estimate(const RecommendInput& input, Recommendation* out) {
  const int32_t target =
      std::max(1, static_cast<int32_t>(std::floor(input.busy_share * input.workers)));
  out->target = {target, fmt::format("floor({:g} × {} workers); per replica, as AverageValue",
                                     input.busy_share, input.workers)};
  double mean = 0;
  for (const HistorySeries& series : input.high) mean += Mean(series);
  mean /= static_cast<double>(input.high.size());
  const double wanted_min = std::ceil(mean / target);
  out->min_replicas = {std::max(kLeastMin, static_cast<int32_t>(wanted_min)),
                       fmt::format("mean in-flight {:.4g} / target {}, rounded up{}", mean, target,
                                   wanted_min < kLeastMin ? "; at least 2" : "")};
  const double most = Maximum(input.mid.empty() ? input.high : input.mid);
  const double needed = most / input.workers;
  const double wanted_max = std::ceil(std::max<double>(needed, input.spec_replicas));
  out->max_replicas = {
      std::max(kLeastMax, static_cast<int32_t>(wanted_max)),
      needed > input.spec_replicas
          ? fmt::format("highest median in-flight {:.4g} / {} workers, rounded up{}", most,
                        input.workers, wanted_max < kLeastMax ? "; at least 20" : "")
          : fmt::format("spec.replicas now ({}), more than {:.4g} / {} workers{}",
                        input.spec_replicas, most, input.workers,
                        wanted_max < kLeastMax ? "; at least 20" : "")};
}

/// The load of all sources together, as the rate that keeps that much in flight.
base::Result<LoadShape> LoadOf(const RecommendInput& input) {
  const HistorySeries total = SumByTime(input.high);
  std::vector<LoadShape::Point> points;
  for (const HistorySeries::Sample& sample : total.samples) {
    points.push_back(
        {sample.at_seconds - total.samples[0].at_seconds, sample.value / input.service.latency});
  }
  return LoadShape::FromPoints(std::move(points));
}

struct Outcome {
  double pod_hours = 0;
  double wait = 0;
  int changes = 0;
};

base::Result<Outcome> Try(const RecommendInput& input, const LoadShape& load,
                          const hpa::HpaSpec& spec) {
  Scenario scenario{
      .name = "",
      .load = load,
      .service = input.service,
      .path = {},
      .hpa = spec,
      .controller = {},
      .step = 15,
      .initial_replicas = std::clamp(input.spec_replicas, spec.min_replicas, spec.max_replicas)};
  scenario.service.workers = input.workers;
  auto run = Simulate(scenario);
  if (!run) return std::unexpected(run.error());
  const Summary summary = Summarize(scenario, *run);
  return Outcome{summary.pod_hours, summary.latency_p99 - input.service.latency,
                 summary.direction_changes};
}

hpa::HpaSpec SpecOf(int32_t target, int32_t min, int32_t max, int32_t window) {
  hpa::HpaSpec spec{.min_replicas = min,
                    .max_replicas = std::max(min, max),
                    .metrics = {{hpa::MetricType::kExternal, hpa::TargetType::kAverageValue,
                                 int64_t{target} * 1000, "in-flight"}},
                    .behavior = hpa::Behavior{}};
  spec.behavior->down.stabilization_window_seconds = window;
  return spec;
}

/// A setting that was tried, with what came of it.
struct Candidate {
  int32_t target = 0;
  int32_t min = 0;
  int32_t window = 0;
  Outcome outcome;
  bool calm = false;  // its count does not flap
};

/// The shortest window that ends flapping, else the one that flaps least; nothing if none keeps the
/// bound on waiting.
base::Result<std::optional<Candidate>> TryWindows(const RecommendInput& input,
                                                  const LoadShape& load, int32_t target,
                                                  int32_t min, int32_t max) {
  std::optional<Candidate> best;
  for (const int32_t window : kWindows) {
    const auto tried = Try(input, load, SpecOf(target, min, max, window));
    if (!tried) return std::unexpected(tried.error());
    if (tried->wait > input.max_wait_seconds) continue;
    if (best && best->outcome.changes <= tried->changes) continue;
    const bool calm = tried->changes <= kCalmTurnsADay * load.duration_seconds() / 86400;
    best = {target, min, window, *tried, calm};
    if (calm) break;
  }
  return best;
}

/// Targets from half to all of the workers, minimum from half of the estimate to the estimate.
base::Result<void> Search(const RecommendInput& input, const LoadShape& load, Recommendation* out) {
  std::optional<Candidate> best;
  const int32_t estimate = out->min_replicas.value;
  for (int32_t target = std::max(1, input.workers / 2); target <= input.workers; ++target) {
    for (const int32_t min : {std::max(1, estimate / 2), estimate}) {
      const auto found = TryWindows(input, load, target, min, out->max_replicas.value);
      if (!found) return std::unexpected(found.error());
      if (!*found) continue;
      const Candidate& candidate = **found;
      const bool better = !best || (candidate.calm != best->calm
                                        ? candidate.calm
                                        : candidate.outcome.pod_hours < best->outcome.pod_hours);
      if (better) best = candidate;
    }
  }
  if (best) {
    const Outcome& outcome = best->outcome;
    out->best_target = {best->target, fmt::format("waiting p99 {:.2f} s, bound {:g} s",
                                                  outcome.wait, input.max_wait_seconds)};
    out->best_min = {best->min, fmt::format("{:.1f} pod-hours", outcome.pod_hours)};
    out->best_window = {best->window, fmt::format("{} direction changes{}", outcome.changes,
                                                  best->calm ? "" : ": no window ends flapping")};
    out->best_pod_hours = outcome.pod_hours;
  }
  if (!best) {
    out->warnings.push_back(fmt::format(
        "no setting that was tried keeps the waiting time p99 below {:g} s: raise maxReplicas, the "
        "bound, or the workers of a replica",
        input.max_wait_seconds));
  }
  return {};
}

void Warn(const RecommendInput& input, Recommendation* out) {
  const auto& samples = input.high.front().samples;
  const double span = samples.back().at_seconds - samples.front().at_seconds;
  if (span < 0.95 * input.wanted_history_seconds) {
    out->warnings.push_back(
        fmt::format("the history covers {:.1f} of {:.1f} days: a week has its own rhythm",
                    span / 86400, input.wanted_history_seconds / 86400));
  }
  std::vector<double> gaps;
  for (size_t i = 1; i < samples.size(); ++i) {
    gaps.push_back(samples[i].at_seconds - samples[i - 1].at_seconds);
  }
  if (gaps.size() >= 3) {
    std::vector<double> sorted = gaps;
    std::ranges::sort(sorted);
    const double usual = sorted[sorted.size() / 2];
    const auto holes = std::ranges::count_if(gaps, [&](double gap) { return gap > 3 * usual; });
    if (holes > 0) {
      out->warnings.push_back(fmt::format(
          "the history has {} gaps of more than three times its spacing ({:g} s)", holes, usual));
    }
  }
  if (!input.current) return;
  const double full = static_cast<double>(input.current->max_replicas) * input.workers;
  const auto above = std::ranges::count_if(
      samples, [&](const HistorySeries::Sample& sample) { return sample.value >= full; });
  if (above > 0) {
    out->warnings.push_back(fmt::format(
        "{:.1f} % of the time there was as much work as maxReplicas ({}) can do at once: the true "
        "need may be higher than what is recorded",
        100.0 * static_cast<double>(above) / static_cast<double>(samples.size()),
        input.current->max_replicas));
  }
}

}  // namespace

base::Result<Recommendation> EstimateFromHistory(const RecommendInput& input) {
  const auto fail = [](std::string message) {
    return base::Fail(base::Code::kInvalidArgument, std::move(message));
  };
  if (input.workers < 1) return fail("workers: a replica needs at least one");
  if (!(input.busy_share > 0 && input.busy_share <= 1)) return fail("busy share: above 0, up to 1");
  if (!(input.service.latency > 0)) return fail("latency: must be above 0 s");
  if (input.high.empty()) return fail("the history has no series");
  for (const HistorySeries& series : input.high) {
    if (series.samples.size() < 2)
      return fail("a series of the history has fewer than two samples");
  }
  Recommendation out;
  Estimate(input, &out);
  Warn(input, &out);
  return out;
}

base::Result<Recommendation> Recommend(const RecommendInput& input) {
  auto out = EstimateFromHistory(input);
  if (!out) return out;
  const auto load = LoadOf(input);
  if (!load) return std::unexpected(load.error());
  if (auto searched = Search(input, *load, &*out); !searched) {
    return std::unexpected(searched.error());
  }
  if (input.current) {
    const auto now = Try(input, *load, *input.current);
    if (now) out->current_pod_hours = now->pod_hours;
  }
  return out;
}

std::string RecommendationYaml(const Recommendation& r) {
  const int32_t target = r.best_target ? r.best_target->value : r.target.value;
  const int32_t min = r.best_min ? r.best_min->value : r.min_replicas.value;
  std::string out = fmt::format(
      "# kubectl patch hpa <name> --patch-file <this file>\n"
      "spec:\n"
      "  minReplicas: {}\n"
      "  maxReplicas: {}\n",
      min, r.max_replicas.value);
  if (r.best_window) {
    out += fmt::format("  behavior:\n    scaleDown:\n      stabilizationWindowSeconds: {}\n",
                       r.best_window->value);
  }
  return out +
         fmt::format("# target of the metric: type AverageValue, averageValue \"{}\"\n", target);
}

std::string RecommendationText(const Recommendation& r) {
  std::string out = "from the history\n";
  const auto line = [&out](std::string_view name, const Advice& advice) {
    out += fmt::format("  {:<14}{:>6}  {}\n", name, advice.value, advice.reason);
  };
  line("target", r.target);
  line("minReplicas", r.min_replicas);
  line("maxReplicas", r.max_replicas);
  if (r.best_target) {
    out += "cheapest setting that keeps the bound\n";
    line("target", *r.best_target);
    line("minReplicas", *r.best_min);
    line("window (s)", *r.best_window);
    if (r.current_pod_hours) {
      out += fmt::format("  pod-hours: {:.1f} now, {:.1f} then: {:+.0f} %\n", *r.current_pod_hours,
                         r.best_pod_hours, 100 * (r.best_pod_hours / *r.current_pod_hours - 1));
    }
  }
  for (const std::string& warning : r.warnings) out += "warning: " + warning + "\n";
  return out;
}

}  // namespace activescale::sim
