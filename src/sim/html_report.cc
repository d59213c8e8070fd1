#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report.h"

namespace activescale::sim {
namespace {

constexpr double kWidth = 900;
constexpr double kHeight = 190;
constexpr double kLeft = 56;
constexpr double kBottom = 24;
constexpr size_t kMaxPoints = 1200;  // more than a screen shows

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Activescale simulation</title>
<style>
:root { color-scheme: light dark; --ink: #1c2430; --dim: #5b6675; --line: #d8dde5; --page: #fbfcfd;
  --c0: #2563c9; --c1: #c2410c; --c2: #15803d; --c3: #7e22ce; --c4: #b91c5c; --c5: #0e7490; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --dim: #9aa5b4; --line: #343c48;
  --page: #12161c; --c0: #6aa1ff; --c1: #fb923c; --c2: #4ade80; --c3: #c084fc; --c4: #f472b6;
  --c5: #22d3ee; } }
body { margin: 0 auto; max-width: 960px; padding: 1.5rem 1rem 3rem; background: var(--page);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .25rem; }
p { color: var(--dim); margin: 0 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--dim); font: 12px system-ui, sans-serif; }
.grid { stroke: var(--line); stroke-width: 1; } .curve { fill: none; stroke-width: 1.8; }
.key { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; font-size: .9rem; color: var(--dim); }
.key i { display: inline-block; width: 1.1rem; height: .2rem; margin: 0 .4rem .25rem 0; }
.dash { stroke-dasharray: 5 4; }
</style></head><body>
)";

std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

struct Curve {
  std::string_view name;  // after the run's name; "" if the plot has one curve a run
  double (*value)(const TimelinePoint&);
  bool dashed = false;
};

struct Plot {
  std::string_view title;
  std::vector<Curve> curves;
};

const std::vector<Plot>& Plots() {
  static const std::vector<Plot> plots = {
      {"Load, requests per second", {{"", [](const TimelinePoint& p) { return p.qps; }}}},
      {"In flight: queued and running", {{"", [](const TimelinePoint& p) { return p.in_flight; }}}},
      {"Replicas",
       {{"ready", [](const TimelinePoint& p) { return static_cast<double>(p.ready); }},
        {"desired", [](const TimelinePoint& p) { return static_cast<double>(p.desired); }, true}}},
      {"Queue, waiting requests", {{"", [](const TimelinePoint& p) { return p.queued; }}}},
      {"Latency, seconds", {{"", [](const TimelinePoint& p) { return p.latency; }}}}};
  return plots;
}

/// The smallest of 1, 2, 5 × 10^n that is not below `value`.
double NiceCeiling(double value) {
  if (value <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 2.5, 5.0, 10.0}) {
    if (step * power >= value * (1 - 1e-9)) return step * power;
  }
  return 10 * power;
}

std::string Path(const Run& run, const Curve& curve, double end, double top) {
  std::string path;
  const size_t stride = std::max<size_t>(1, run.timeline.size() / kMaxPoints);
  for (size_t i = 0; i < run.timeline.size(); i += stride) {
    double value = 0;  // a stride's largest, so that no peak is lost
    for (size_t k = i; k < std::min(i + stride, run.timeline.size()); ++k) {
      value = std::max(value, curve.value(run.timeline[k]));
    }
    const double x = kLeft + run.timeline[i].at / end * (kWidth - kLeft - 8);
    const double y = 8 + (1 - value / top) * (kHeight - kBottom - 8);
    fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.1f}", i == 0 ? "M" : "L", x, y);
  }
  return path;
}

std::string TimeLabel(double seconds, double end) {
  if (end > 3 * 86400) return fmt::format("{:.1f} d", seconds / 86400);
  if (end > 3 * 3600) return fmt::format("{:.1f} h", seconds / 3600);
  if (end > 600) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} s", seconds);
}

std::string AxisLabel(double value) {
  if (value >= 1e6) return fmt::format("{:.4g} M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.4g} k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

std::string Axes(double end, double top) {
  std::string out;
  for (int i = 0; i <= 4; ++i) {
    const double y = 8 + (1 - i / 4.0) * (kHeight - kBottom - 8);
    const double x = kLeft + i / 4.0 * (kWidth - kLeft - 8);
    out += fmt::format(
        "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>"
        "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{}</text>",
        kLeft, kWidth - 8, y, y, kLeft - 8, y + 4, AxisLabel(top * i / 4.0), x, kHeight - 4,
        i == 0 ? "start" : (i == 4 ? "end" : "middle"), TimeLabel(end * i / 4.0, end));
  }
  return out;
}

std::string Draw(const Plot& plot, const std::vector<ReportedRun>& runs) {
  double end = 1;
  double top = 0;
  for (const ReportedRun& run : runs) {
    for (const TimelinePoint& point : run.run.timeline) {
      end = std::max(end, point.at);
      for (const Curve& curve : plot.curves) top = std::max(top, curve.value(point));
    }
  }
  top = NiceCeiling(top);
  std::string key;
  std::string curves;
  for (size_t i = 0; i < runs.size(); ++i) {
    for (const Curve& curve : plot.curves) {
      const std::string_view dash = curve.dashed ? " dash" : "";
      curves += fmt::format("<path class=\"curve{}\" stroke=\"var(--c{})\" d=\"{}\"/>", dash, i % 6,
                            Path(runs[i].run, curve, end, top));
      key +=
          fmt::format("<span><i style=\"background:var(--c{})\"></i>{} {}{}</span>", i % 6,
                      Escape(runs[i].scenario.name), curve.name, curve.dashed ? " (dashed)" : "");
    }
  }
  return fmt::format(
      "<h2>{0}</h2>\n<svg viewBox=\"0 0 {1} {2}\" role=\"img\" aria-label=\"{0} over time\">{3}{4}"
      "</svg>\n<div class=\"key\">{5}</div>\n",
      plot.title, kWidth, kHeight, Axes(end, top), curves, key);
}

std::string Table(const std::vector<ReportedRun>& runs) {
  std::string out = "<div class=\"scroll\"><table>";
  std::string_view cell = "th";
  for (const std::vector<std::string>& row : SummaryRows(runs)) {
    out += "<tr>";
    for (const std::string& text : row) out += fmt::format("<{0}>{1}</{0}>", cell, Escape(text));
    out += "</tr>";
    cell = "td";
  }
  return out + "</table></div>\n";
}

}  // namespace

std::string HtmlReport(const std::vector<ReportedRun>& runs) {
  std::string out(kHead);
  std::string names;
  for (const ReportedRun& run : runs) {
    if (!names.empty()) names += ", ";
    names += Escape(run.scenario.name);
  }
  out += fmt::format("<h1>Simulation: {}</h1>\n<p>Seed {}. Made by activescale simulate.</p>\n",
                     names, runs.empty() ? 0 : runs.front().scenario.seed);
  out += Table(runs);
  for (const Plot& plot : Plots()) out += Draw(plot, runs);
  return out + "</body></html>\n";
}

}  // namespace activescale::sim
