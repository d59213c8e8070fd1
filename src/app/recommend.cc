#include "sim/recommend.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "app/sim_flags.h"
#include "app/simulate.h"
#include "sim/load_shape.h"

namespace activescale::app {
namespace {

struct RecommendFlags {
  std::string high;
  std::string mid;
  std::string hpa;
  int32_t replicas = 1;
  double busy = 0.75;
  std::string max_wait = "1s";
  std::string query_median;
  bool yaml = false;
  std::string out;
  ServiceFlags service;
  HistoryFlags history;
};

/// A CSV of time,inflight as one series. Errors: as LoadShape::FromCsv, with the file's name.
base::Result<sim::HistorySeries> ReadSeries(const std::string& path) {
  const auto text = ReadTextFile(path);
  if (!text) return std::unexpected(text.error());
  // With a latency of one second the rate is the number in flight.
  const auto shape = sim::LoadShape::FromCsv(*text, 1);
  if (!shape) {
    return base::Fail(shape.error().code, fmt::format("{}: {}", path, shape.error().message));
  }
  sim::HistorySeries series;
  for (const auto& point : shape->points()) series.samples.push_back({point.at_seconds, point.qps});
  return series;
}

/// The two series of the history, from files or from a Prometheus.
base::Result<void> ReadHistory(const RecommendFlags& f, sim::RecommendInput* input) {
  if (f.high.empty() != f.history.given()) {
    return base::Fail(
        base::Code::kInvalidArgument,
        "give the history either by --inflight, or by --prometheus or --data-dir with "
        "--query");
  }
  const base::WallTime now = base::SystemClock().WallNow();
  const auto read = [&](const std::string& file, const std::string& query,
                        std::vector<sim::HistorySeries>* out) -> base::Result<void> {
    if (f.history.given()) {
      auto series = f.history.Ask(query, now);
      if (!series) return std::unexpected(std::move(series.error()));
      *out = *std::move(series);
      return {};
    }
    const auto series = ReadSeries(file);
    if (!series) return std::unexpected(series.error());
    *out = {*series};
    return {};
  };
  if (auto done = read(f.high, f.history.query, &input->high); !done) return done;
  if (f.mid.empty() && f.query_median.empty()) return {};
  return read(f.mid, f.query_median, &input->mid);
}

base::Result<sim::RecommendInput> ReadInput(const RecommendFlags& f) {
  sim::RecommendInput input;
  if (auto read = ReadHistory(f, &input); !read) return std::unexpected(read.error());
  const auto service = f.service.Read();
  if (!service) return std::unexpected(service.error());
  input.service = *service;
  input.workers = service->workers;
  input.busy_share = f.busy;
  input.spec_replicas = f.replicas;
  const auto wait = Seconds("max-wait", f.max_wait);
  if (!wait) return std::unexpected(wait.error());
  input.max_wait_seconds = *wait;
  const auto history = Seconds("history", f.history.history);
  if (!history) return std::unexpected(history.error());
  input.wanted_history_seconds = *history;
  if (!f.hpa.empty()) {
    const auto manifest = ReadManifestFile(f.hpa);
    if (!manifest) return std::unexpected(manifest.error());
    input.current = manifest->spec;
    // The history is of the sum of all pods' work.
    for (hpa::MetricSpec& metric : input.current->metrics) {
      if (metric.type == hpa::MetricType::kPods) metric.type = hpa::MetricType::kExternal;
    }
  }
  return input;
}

void AddFlags(CLI::App& app, RecommendFlags& f) {
  app.name("recommend");
  app.description(
      "Target, minimum, maximum and scale-down window from a recorded history of work.");
  app.add_option("--inflight", f.high, "CSV of time,inflight: a high quantile (0.75) of the work")
      ->type_name("FILE");
  app.add_option("--inflight-median", f.mid, "CSV of its median, for maxReplicas")
      ->type_name("FILE");
  app.add_option("--hpa", f.hpa, "manifest of the setting now, to compare with")->type_name("FILE");
  app.add_option("--replicas", f.replicas, "spec.replicas now")->check(CLI::PositiveNumber);
  app.add_option("--busy", f.busy, "share of the workers that should be busy at the target")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
  app.add_option("--max-wait", f.max_wait, "bound on the time that work waits, p99")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_flag("--yaml", f.yaml, "print a patch for the HPA");
  app.add_option("--out", f.out, "file to write; by default standard output")->type_name("FILE");
  f.history.AddTo(app);
  app.add_option("--query-median", f.query_median, "as --inflight-median, asked like --query")
      ->group("History");
  f.service.AddTo(app);
}

base::Result<void> RunAll(const RecommendFlags& f) {
  const auto input = ReadInput(f);
  if (!input) return std::unexpected(input.error());
  const auto made = sim::Recommend(*input);
  if (!made) return std::unexpected(made.error());
  return WriteOutput(f.out,
                     f.yaml ? sim::RecommendationYaml(*made) : sim::RecommendationText(*made));
}

}  // namespace

int RunRecommend(std::span<const std::string> arguments, const Environment&) {
  CLI::App app;
  RecommendFlags flags;
  AddFlags(app, flags);
  if (const auto code = ParseFlags(app, arguments)) return *code;
  return Finish(app, RunAll(flags));
}

Usage RecommendUsage() { return UsageWith<RecommendFlags>(AddFlags); }

}  // namespace activescale::app
