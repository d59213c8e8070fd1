#include "sim/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <string_view>

#include "base/sparkline.h"

namespace activescale::sim {
namespace {

struct Row {
  std::string_view key;    // in JSON
  std::string_view label;  // in tables
  double (*value)(const Summary&);
  int digits;
};

constexpr std::array<Row, 16> kRows = {{
    {"scaling_start_seconds", "scaling start (s)", [](const Summary& s) { return s.scaling_start; },
     1},
    {"time_to_max_seconds", "time to most replicas (s)",
     [](const Summary& s) { return s.time_to_max; }, 1},
    {"scale_out_coverage_percent", "scale-out coverage (%)",
     [](const Summary& s) { return s.coverage; }, 2},
    {"average_replicas", "replicas, average", [](const Summary& s) { return s.average_replicas; },
     2},
    {"p95_replicas", "replicas, p95", [](const Summary& s) { return s.p95_replicas; }, 0},
    {"max_replicas", "replicas, most", [](const Summary& s) { return s.max_replicas; }, 0},
    {"pod_hours", "pod-hours", [](const Summary& s) { return s.pod_hours; }, 2},
    {"direction_changes", "direction changes",
     [](const Summary& s) { return static_cast<double>(s.direction_changes); }, 0},
    {"time_at_max_seconds", "time at maxReplicas (s)",
     [](const Summary& s) { return s.time_at_max; }, 0},
    {"queue_p50", "queue, p50", [](const Summary& s) { return s.queue_p50; }, 1},
    {"queue_p90", "queue, p90", [](const Summary& s) { return s.queue_p90; }, 1},
    {"queue_p99", "queue, p99", [](const Summary& s) { return s.queue_p99; }, 1},
    {"latency_p50_seconds", "latency, p50 (s)", [](const Summary& s) { return s.latency_p50; }, 3},
    {"latency_p90_seconds", "latency, p90 (s)", [](const Summary& s) { return s.latency_p90; }, 3},
    {"latency_p99_seconds", "latency, p99 (s)", [](const Summary& s) { return s.latency_p99; }, 3},
    {"unmet_requests", "unmet requests", [](const Summary& s) { return s.unmet; }, 0},
}};

std::string Number(double value, int digits) {
  return value < 0 ? "never" : fmt::format("{:.{}f}", value, digits);
}

std::string EscapeJson(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

using ValueOf = double (*)(const TimelinePoint&);

/// The timeline's values in `columns` equal parts of the time, each part's largest.
std::vector<double> Sampled(const Run& run, ValueOf curve, size_t columns) {
  std::vector<double> out(columns, 0);
  const size_t points = run.timeline.size();
  for (size_t i = 0; i < points; ++i) {
    double& slot = out[i * columns / points];
    slot = std::max(slot, curve(run.timeline[i]));
  }
  for (size_t i = 1; points < columns && i < columns; ++i) {
    if (i * points / columns == (i - 1) * points / columns) out[i] = out[i - 1];
  }
  return out;
}

}  // namespace

std::vector<std::vector<std::string>> SummaryRows(const std::vector<ReportedRun>& runs) {
  std::vector<std::vector<std::string>> rows(1, {""});
  for (const ReportedRun& run : runs) rows[0].push_back(run.scenario.name);
  for (const Row& row : kRows) {
    std::vector<std::string>& cells = rows.emplace_back(1, std::string(row.label));
    for (const ReportedRun& run : runs) {
      cells.push_back(Number(row.value(run.summary), row.digits));
    }
  }
  return rows;
}

std::string TextTable(const std::vector<ReportedRun>& runs) {
  size_t width = 12;
  for (const ReportedRun& run : runs) width = std::max(width, run.scenario.name.size() + 2);
  std::string out;
  for (const std::vector<std::string>& row : SummaryRows(runs)) {
    out += fmt::format("{:<28}", row[0]);
    for (size_t i = 1; i < row.size(); ++i) out += fmt::format("{:>{}}", row[i], width);
    out += '\n';
  }
  return out;
}

std::string Json(const std::vector<ReportedRun>& runs) {
  std::string out = "{\"runs\":[";
  for (const ReportedRun& run : runs) {
    if (&run != &runs.front()) out += ',';
    out += fmt::format("{{\"name\":\"{}\",\"seed\":{},\"summary\":{{",
                       EscapeJson(run.scenario.name), run.scenario.seed);
    for (size_t i = 0; i < kRows.size(); ++i) {
      const double value = kRows[i].value(run.summary);
      out += fmt::format("{}\"{}\":{}", i == 0 ? "" : ",", kRows[i].key,
                         value < 0 ? "null" : fmt::format("{:.6g}", value));
    }
    out += "}}";
  }
  return out + "]}\n";
}

std::string TimelineCsv(const ReportedRun& run) {
  std::string out = "time,qps,in_flight,queued,latency,desired,ready,serving\n";
  for (const TimelinePoint& p : run.run.timeline) {
    fmt::format_to(std::back_inserter(out), "{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{},{},{}\n", p.at,
                   p.qps, p.in_flight, p.queued, p.latency, p.desired, p.ready, p.serving);
  }
  return out;
}

std::string TerminalPlot(const ReportedRun& run, int width) {
  constexpr std::pair<std::string_view, ValueOf> kCurves[] = {
      {"load (req/s)", [](const TimelinePoint& p) { return p.qps; }},
      {"in flight", [](const TimelinePoint& p) { return p.in_flight; }},
      {"desired", [](const TimelinePoint& p) { return static_cast<double>(p.desired); }},
      {"ready", [](const TimelinePoint& p) { return static_cast<double>(p.ready); }},
      {"queue", [](const TimelinePoint& p) { return p.queued; }}};
  if (run.run.timeline.empty()) return {};
  const auto columns = static_cast<size_t>(std::max(10, width - 26));
  std::string out;
  for (const auto& [name, curve] : kCurves) {
    const std::vector<double> values = Sampled(run.run, curve, columns);
    const double most = std::ranges::max(values);
    out += fmt::format("{:<13}{:>10.6g} ", name, most);
    out += base::Sparkline(values, most) + '\n';
  }
  return out + fmt::format("{:<24}0 s{:>{}.0f} s\n", "", run.run.timeline.back().at, columns - 5);
}

}  // namespace activescale::sim
