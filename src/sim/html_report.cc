#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "sim/html_page.h"
#include "sim/report.h"

namespace activescale::sim {
namespace {

// The plot's own units; the page stretches it to the screen.
constexpr double kWidth = 1000;
constexpr double kHeight = 100;
constexpr int kTicks = 4;
constexpr size_t kMaxPoints = 1200;  // more than a screen shows

struct Curve {
  std::string_view name;  // after the run's name; "" if the plot has one curve a run
  double (*value)(const TimelinePoint&);
  bool dashed = false;
};

struct Plot {
  std::string_view title;
  std::vector<Curve> curves;
  bool shared = false;  // the same for all runs
};

const std::vector<Plot>& Plots() {
  static const std::vector<Plot> plots = {
      {"Load, requests per second", {{"", [](const TimelinePoint& p) { return p.qps; }}}, true},
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
    const double x = run.timeline[i].at / end * kWidth;
    const double y = (1 - value / top) * kHeight;
    fmt::format_to(std::back_inserter(path), "{}{:.1f} {:.2f}", i == 0 ? "M" : "L", x, y);
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

/// The curves in a grid, with a label at each line of it.
std::string Frame(std::string_view title, double end, double top, std::string_view curves) {
  std::string lines;
  std::string values;
  std::string times;
  for (int i = 0; i <= kTicks; ++i) {
    const double share = static_cast<double>(i) / kTicks;
    lines += fmt::format("<line class=\"grid\" x1=\"0\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>", kWidth,
                         share * kHeight, share * kHeight);
    values += fmt::format("<span>{}</span>", AxisLabel(top * share));
    times += fmt::format("<span>{}</span>", TimeLabel(end * share, end));
  }
  return fmt::format(
      "<h2>{0}</h2>\n<div class=\"plot\"><div class=\"y\">{1}</div><svg viewBox=\"0 0 {2} {3}\" "
      "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{0} over time\">{4}{5}</svg>"
      "<div class=\"x\">{6}</div></div>\n",
      title, values, kWidth, kHeight, lines, curves, times);
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
  const size_t drawn = plot.shared ? std::min<size_t>(1, runs.size()) : runs.size();
  std::string key;
  std::string curves;
  for (size_t i = 0; i < drawn; ++i) {
    // Wider below narrower, so that curves on one another can all be seen.
    const double width = 1.8 + 1.6 * static_cast<double>(drawn - 1 - i);
    for (const Curve& curve : plot.curves) {
      const std::string_view dash = curve.dashed ? "dash" : "";
      curves += fmt::format(
          "<path class=\"curve {}\" stroke=\"var(--c{})\" stroke-width=\"{:.1f}\" d=\"{}\"/>", dash,
          i % 6, curve.dashed ? 1.2 : width, Path(runs[i].run, curve, end, top));
      key += fmt::format("<span><i class=\"{}\" style=\"color:var(--c{})\"></i>{} {}</span>", dash,
                         i % 6, HtmlEscape(runs[i].scenario.name), curve.name);
    }
  }
  const std::string frame = Frame(plot.title, end, top, curves);
  return plot.shared ? frame : frame + fmt::format("<div class=\"key\">{}</div>\n", key);
}

std::string Table(const std::vector<ReportedRun>& runs) {
  std::string out = "<div class=\"scroll\"><table class=\"wide\">";
  std::string_view cell = "th";
  for (const std::vector<std::string>& row : SummaryRows(runs)) {
    out += "<tr>";
    for (const std::string& text : row)
      out += fmt::format("<{0}>{1}</{0}>", cell, HtmlEscape(text));
    out += "</tr>";
    cell = "td";
  }
  return out + "</table></div>\n";
}

}  // namespace

std::string HtmlReport(const std::vector<ReportedRun>& runs) {
  std::string out = HtmlHead("Activescale simulation");
  std::string names;
  for (const ReportedRun& run : runs) {
    if (!names.empty()) names += ", ";
    names += HtmlEscape(run.scenario.name);
  }
  out += fmt::format("<h1>Simulation: {}</h1>\n<p>Seed {}. Made by activescale simulate.</p>\n",
                     names, runs.empty() ? 0 : runs.front().scenario.seed);
  out += Table(runs);
  for (const Plot& plot : Plots()) out += Draw(plot, runs);
  return out + "</body></html>\n";
}

}  // namespace activescale::sim
