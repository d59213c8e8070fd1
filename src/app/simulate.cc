#include "app/simulate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/sim_flags.h"
#include "app/thread.h"
#include "sim/report.h"
#include "sim/simulation.h"
#include "sim/sweep.h"

namespace activescale::app {
namespace {

struct SimulateFlags {
  std::string hpa;
  std::string load = "tc1";
  std::string path = "push";
  std::vector<std::string> compare;
  std::string flush = "5s", ttl = "20s", scrape = "15s", polling = "0s", window = "0s";
  double cpu_per_request = 50, cpu_request = 1000;
  std::string fidelity = "flow";
  std::string step = "1s", sync = "15s";
  double phase = -1;
  int32_t initial = 0;
  uint64_t seed = 1;
  int runs = 1;
  std::string sweep;
  std::string output = "table";
  std::string out;
  bool plot = false;
  ServiceFlags service;
  HistoryFlags history;
  std::string query_unit = "inflight";
};

const std::vector<std::pair<std::string, sim::PathKind>>& Paths() {
  static const std::vector<std::pair<std::string, sim::PathKind>> paths = {
      {"push", sim::PathKind::kPush},
      {"push+ahead", sim::PathKind::kPushAhead},
      {"prometheus+keda", sim::PathKind::kPrometheusKeda},
      {"metrics-server", sim::PathKind::kCpu},
      {"kpa", sim::PathKind::kKpa}};
  return paths;
}

std::vector<std::string> PathNames() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : Paths()) names.push_back(name);
  return names;
}

void AddFlags(CLI::App& app, SimulateFlags& f) {
  app.name("simulate");
  app.description("What an HPA or a ScaledObject would do with a load, without a cluster.");
  app.add_option("--hpa", f.hpa,
                 "manifest of an HPA or a ScaledObject; without it: inbound_active_requests, "
                 "target 10, 2 to 20 replicas")
      ->type_name("FILE");
  app.add_option("--load", f.load,
                 fmt::format("{}, or a CSV file of time,qps or time,inflight",
                             fmt::join(sim::LoadShape::Names(), ", ")))
      ->capture_default_str();
  const std::string path = "Signal path";
  app.add_option("--path", f.path, "how the HPA learns of the load")
      ->check(CLI::IsMember(PathNames()))
      ->capture_default_str()
      ->group(path);
  app.add_option("--compare", f.compare, "other paths, shown beside it")
      ->delimiter(',')
      ->check(CLI::IsMember(PathNames()))
      ->group(path);
  const auto add_duration = [&](const char* name, std::string& value, const char* help) {
    app.add_option(name, value, help)->type_name("DURATION")->capture_default_str()->group(path);
  };
  add_duration("--flush", f.flush, "push: between two flushes of an Envoy");
  add_duration("--ttl", f.ttl, "push: age at which a pod is missing");
  add_duration("--scrape", f.scrape, "prometheus+keda, metrics-server: between two scrapes");
  add_duration("--polling", f.polling, "prometheus+keda: how long KEDA's cached value is used");
  add_duration("--window", f.window, "maximum over this time; 0s: the newest value");
  app.add_option("--cpu-per-request", f.cpu_per_request,
                 "metrics-server: milli-CPU that a request takes while it is worked on")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(path);
  app.add_option("--cpu-request", f.cpu_request, "metrics-server: milli-CPU that a pod requests")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(path);
  f.service.AddTo(app);
  f.history.AddTo(app);
  app.add_option("--query-unit", f.query_unit,
                 "what the query gives: inflight, or qps, requests a second")
      ->check(CLI::IsMember({"inflight", "qps"}))
      ->capture_default_str()
      ->group("Prometheus");
  const std::string run = "Run";
  app.add_option("--fidelity", f.fidelity, "flow: rates, weeks in seconds; request: each request")
      ->check(CLI::IsMember({"flow", "request"}))
      ->capture_default_str()
      ->group(run);
  app.add_option("--step", f.step, "between two looks at pods and signal")
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(run);
  app.add_option("--sync", f.sync, "the controller's sync period")
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(run);
  app.add_option("--phase", f.phase, "seconds until the first sync; by default drawn by the seed")
      ->check(CLI::NonNegativeNumber)
      ->group(run);
  app.add_option("--initial", f.initial, "replicas at the start; by default the minimum")
      ->check(CLI::NonNegativeNumber)
      ->group(run);
  app.add_option("--seed", f.seed, "the same seed gives the same run")
      ->capture_default_str()
      ->group(run);
  app.add_option("--runs", f.runs, "runs with the next seeds; figures are their medians")
      ->check(CLI::Range(1, 10'000))
      ->group(run);
  app.add_option("--sweep", f.sweep, "settings to try, e.g. target=2..12,window=0..1800/300")
      ->group(run);
  const std::string result = "Result";
  app.add_option("--output", f.output, "form of the result; csv is the timeline")
      ->check(CLI::IsMember({"table", "json", "csv", "html"}))
      ->capture_default_str()
      ->group(result);
  app.add_option("--out", f.out, "file to write; by default standard output")
      ->type_name("FILE")
      ->group(result);
  app.add_flag("--plot", f.plot, "draw the first run in the terminal")->group(result);
}

/// What a query gave as a load: rates, or what was in flight at `latency` seconds each.
base::Result<sim::LoadShape> AskLoad(const SimulateFlags& f, double latency) {
  const auto series = f.history.Ask(f.history.query, base::SystemClock().WallNow());
  if (!series) return std::unexpected(series.error());
  const sim::HistorySeries total = sim::SumByTime(*series);
  const double scale = f.query_unit == "inflight" ? 1 / latency : 1;
  std::vector<sim::LoadShape::Point> points;
  for (const auto& sample : total.samples) {
    points.push_back({sample.at_seconds - total.samples.front().at_seconds, sample.value * scale});
  }
  return sim::LoadShape::FromRecording(std::move(points), "point of the answer", 1);
}

base::Result<sim::LoadShape> ReadLoad(const SimulateFlags& f, double latency) {
  if (f.history.given()) return AskLoad(f, latency);
  const bool file = f.load.find('.') != std::string::npos || f.load.find('/') != std::string::npos;
  if (!file) return sim::LoadShape::Named(f.load);
  const auto text = ReadTextFile(f.load);
  return text ? sim::LoadShape::FromCsv(*text, latency) : std::unexpected(text.error());
}

base::Result<sim::Scenario> ReadScenario(const SimulateFlags& f) {
  sim::Scenario scenario;
  const auto service = f.service.Read();
  if (!service) return std::unexpected(service.error());
  scenario.service = *service;
  const std::pair<const char*, std::pair<const std::string*, double*>> durations[] = {
      {"flush", {&f.flush, &scenario.path.flush}},
      {"ttl", {&f.ttl, &scenario.path.ttl}},
      {"scrape", {&f.scrape, &scenario.path.scrape}},
      {"polling", {&f.polling, &scenario.path.polling}},
      {"window", {&f.window, &scenario.path.window}},
      {"step", {&f.step, &scenario.step}},
      {"sync", {&f.sync, &scenario.sync}}};
  for (const auto& [flag, value] : durations) {
    const auto seconds = Seconds(flag, *value.first);
    if (!seconds) return std::unexpected(seconds.error());
    *value.second = *seconds;
  }
  auto load = ReadLoad(f, scenario.service.latency);
  if (!load) return std::unexpected(load.error());
  scenario.load = *std::move(load);
  scenario.hpa = {.min_replicas = 2,
                  .max_replicas = 20,
                  .metrics = {{.target = 10'000, .name = "inbound_active_requests"}},
                  .behavior = std::nullopt};
  if (!f.hpa.empty()) {
    const auto manifest = ReadManifestFile(f.hpa);
    if (!manifest) return std::unexpected(manifest.error());
    scenario.hpa = manifest->spec;
    if (manifest->polling_seconds > 0) scenario.path.polling = manifest->polling_seconds;
  }
  scenario.path.cpu_per_busy = f.cpu_per_request;
  scenario.path.cpu_request = f.cpu_request;
  scenario.fidelity = f.fidelity == "flow" ? sim::Fidelity::kFlow : sim::Fidelity::kRequest;
  scenario.sync_phase = f.phase;
  scenario.initial_replicas = f.initial;
  scenario.seed = f.seed;
  return scenario;
}

/// The same goal by the metric that a path has: in-flight of a pod, its sum, or the CPU it takes.
void TakePath(sim::Scenario& scenario, const std::string& name) {
  scenario.name = name;
  scenario.path.kind =
      std::ranges::find(Paths(), name, [](const auto& p) { return p.first; })->second;
  for (hpa::MetricSpec& metric : scenario.hpa.metrics) {
    const bool cpu = metric.type == hpa::MetricType::kResource;
    if (scenario.path.kind == sim::PathKind::kCpu && !cpu) {
      const double in_flight = static_cast<double>(metric.target) / 1000;
      const double percent =
          100 * in_flight * scenario.path.cpu_per_busy / scenario.path.cpu_request;
      metric = {hpa::MetricType::kResource, hpa::TargetType::kUtilization,
                std::max<int64_t>(1, std::llround(percent)), "cpu"};
    } else if (scenario.path.kind == sim::PathKind::kPrometheusKeda &&
               metric.type == hpa::MetricType::kPods) {
      metric.type = hpa::MetricType::kExternal;
    }
  }
}

/// Runs `work(i)` for each i below `count` on all cores, with a bar on a terminal.
void OnAllCores(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::atomic<size_t> done = 0;
  const bool bar = isatty(STDERR_FILENO) == 1 && count > 1;
  const auto worker = [&] {
    for (size_t i = next++; i < count; i = next++) {
      work(i);
      const size_t finished = ++done;
      if (bar) {
        fmt::print(stderr, "\r[{:<40}] {}/{}", std::string(finished * 40 / count, '#'), finished,
                   count);
      }
    }
  };
  {
    std::vector<std::unique_ptr<Thread>> threads;
    const size_t cores = std::max(1U, std::thread::hardware_concurrency());
    for (size_t i = 0; i < std::min(cores, count); ++i) {
      threads.push_back(std::make_unique<Thread>("simulate", worker));
    }
  }
  if (bar) fmt::print(stderr, "\r{:60}\r", "");
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

sim::Summary Medians(const std::vector<sim::Summary>& all) {
  sim::Summary out;
  const auto take = [&](double sim::Summary::* member) {
    std::vector<double> values;
    for (const sim::Summary& summary : all) values.push_back(summary.*member);
    out.*member = Median(std::move(values));
  };
  using S = sim::Summary;
  for (double S::* member :
       {&S::scaling_start, &S::time_to_max, &S::coverage, &S::average_replicas, &S::p95_replicas,
        &S::max_replicas, &S::pod_hours, &S::time_at_max, &S::queue_p50, &S::queue_p90,
        &S::queue_p99, &S::latency_p50, &S::latency_p90, &S::latency_p99, &S::unmet}) {
    take(member);
  }
  std::vector<double> changes;
  for (const S& summary : all) changes.push_back(summary.direction_changes);
  out.direction_changes = static_cast<int>(Median(std::move(changes)));
  return out;
}

/// One path: `runs` seeds side by side; the timeline is the first seed's.
sim::ReportedRun RunPath(const sim::Scenario& scenario, int runs) {
  sim::ReportedRun reported{.scenario = scenario, .run = {}, .summary = {}};
  std::vector<sim::Summary> summaries(static_cast<size_t>(runs));
  OnAllCores(summaries.size(), [&](size_t i) {
    sim::Scenario seeded = scenario;
    seeded.seed += i;
    sim::Run run = *sim::Simulate(seeded);
    summaries[i] = sim::Summarize(seeded, run);
    if (i == 0) reported.run = std::move(run);
  });
  reported.summary = Medians(summaries);
  return reported;
}

base::Result<void> RunSweep(const SimulateFlags& f, const sim::Scenario& scenario) {
  const auto axes = sim::ParseSweep(f.sweep);
  if (!axes) return std::unexpected(axes.error());
  const auto points = sim::ExpandSweep(scenario, *axes);
  if (!points) return std::unexpected(points.error());
  for (const sim::SweepPoint& point : *points) {
    if (auto ok = sim::CheckScenario(point.scenario); !ok) {
      return base::Fail(
          ok.error().code,
          fmt::format("--sweep, at {}: {}", fmt::join(point.values, ", "), ok.error().message));
    }
  }
  std::vector<sim::SweepResult> results(points->size());
  OnAllCores(points->size(), [&](size_t i) {
    sim::Run run = *sim::Simulate((*points)[i].scenario);
    results[i] = {(*points)[i].values, sim::Summarize((*points)[i].scenario, run)};
  });
  return WriteOutput(
      f.out, f.output == "html" ? sim::SweepHtml(*axes, results) : sim::SweepTable(*axes, results));
}

base::Result<void> RunAll(const SimulateFlags& f) {
  auto scenario = ReadScenario(f);
  if (!scenario) return std::unexpected(scenario.error());
  std::vector<std::string> names = {f.path};
  names.insert(names.end(), f.compare.begin(), f.compare.end());
  std::vector<sim::ReportedRun> runs;
  for (const std::string& name : names) {
    sim::Scenario taken = *scenario;
    TakePath(taken, name);
    if (auto ok = sim::CheckScenario(taken); !ok) return ok;
    if (!f.sweep.empty()) return RunSweep(f, taken);
    runs.push_back(RunPath(taken, f.runs));
  }
  std::string text;
  if (f.output == "html") {
    text = sim::HtmlReport(runs);
  } else if (f.output == "json") {
    text = sim::Json(runs);
  } else if (f.output == "csv") {
    text = sim::TimelineCsv(runs.front());
  } else {
    text = sim::TextTable(runs);
  }
  if (f.plot) text += sim::TerminalPlot(runs.front());
  return WriteOutput(f.out, text);
}

}  // namespace

int RunSimulate(std::span<const std::string> arguments, const Environment&) {
  CLI::App app;
  SimulateFlags flags;
  AddFlags(app, flags);
  if (const auto code = ParseFlags(app, arguments)) return *code;
  return Finish(app, RunAll(flags));
}

Usage SimulateUsage() { return UsageWith<SimulateFlags>(AddFlags); }

}  // namespace activescale::app
