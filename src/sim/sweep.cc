#include "sim/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/html_page.h"

namespace activescale::sim {
namespace {

constexpr size_t kMaxPoints = 10'000;
constexpr int kSpread = 11;  // values of a range without a step, at most

void SetWindow(Scenario& s, double value) {
  if (!s.hpa.behavior) s.hpa.behavior = hpa::Behavior{};
  s.hpa.behavior->down.stabilization_window_seconds = static_cast<int32_t>(value);
}

void SetUp(Scenario& s, double value) {
  if (!s.hpa.behavior) s.hpa.behavior = hpa::Behavior{};
  s.hpa.behavior->up.policies = {{hpa::PolicyType::kPercent, static_cast<int32_t>(value), 15}};
}

struct Setting {
  std::string_view name;
  void (*set)(Scenario&, double);
};

constexpr std::array<Setting, 7> kSettings = {{
    {"target",
     [](Scenario& s, double value) {
       s.hpa.metrics.front().target = static_cast<int64_t>(std::llround(value * 1000));
     }},
    {"window", SetWindow},
    {"min", [](Scenario& s, double value) { s.hpa.min_replicas = static_cast<int32_t>(value); }},
    {"max", [](Scenario& s, double value) { s.hpa.max_replicas = static_cast<int32_t>(value); }},
    {"flush", [](Scenario& s, double value) { s.path.flush = value; }},
    {"up", SetUp},
    {"start", [](Scenario& s, double value) { s.service.start = value; }},
}};

const Setting* FindSetting(std::string_view name) {
  const auto found = std::ranges::find(kSettings, name, &Setting::name);
  return found == kSettings.end() ? nullptr : &*found;
}

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0)) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::vector<double>> ParseRange(std::string_view text) {
  const size_t dots = text.find("..");
  const size_t slash = text.find('/');
  const auto from = ParseNumber(text.substr(0, dots));
  const auto to = ParseNumber(text.substr(dots + 2, slash - dots - 2));
  if (!from || !to || *to < *from) return std::nullopt;
  double step = std::max(1.0, (*to - *from) / (kSpread - 1));
  if (slash != std::string_view::npos) {
    const auto given = ParseNumber(text.substr(slash + 1));
    if (!given || *given <= 0) return std::nullopt;
    step = *given;
  }
  std::vector<double> values;
  for (int i = 0; *from + i * step <= *to * (1 + 1e-12) && values.size() <= kMaxPoints; ++i) {
    values.push_back(*from + i * step);
  }
  return values;
}

std::optional<std::vector<double>> ParseValues(std::string_view text) {
  if (text.find("..") != std::string_view::npos) return ParseRange(text);
  std::vector<double> values;
  while (true) {
    const size_t bar = text.find('|');
    const auto value = ParseNumber(text.substr(0, bar));
    if (!value) return std::nullopt;
    values.push_back(*value);
    if (bar == std::string_view::npos) return values;
    text.remove_prefix(bar + 1);
  }
}

/// Columns of the table besides the axes.
struct Column {
  std::string_view name;
  double (*value)(const Summary&);
};
constexpr std::array<Column, 7> kColumns = {{
    {"pod-hours", [](const Summary& s) { return s.pod_hours; }},
    {"average", [](const Summary& s) { return s.average_replicas; }},
    {"most", [](const Summary& s) { return s.max_replicas; }},
    {"changes", [](const Summary& s) { return static_cast<double>(s.direction_changes); }},
    {"queue p99", [](const Summary& s) { return s.queue_p99; }},
    {"latency p99", [](const Summary& s) { return s.latency_p99; }},
    {"unmet", [](const Summary& s) { return s.unmet; }},
}};

/// A colour from light to strong for `share` of 0..1, readable with dark text.
std::string Heat(double share) {
  const double light = 96 - 46 * std::clamp(share, 0.0, 1.0);
  return fmt::format("hsl({:.0f} 75% {:.0f}%)", 150 - 140 * std::clamp(share, 0.0, 1.0), light);
}

std::string HeatMap(std::string_view title, const std::vector<SweepAxis>& axes,
                    const std::vector<SweepResult>& results, double (*value)(const Summary&)) {
  double least = value(results.front().summary);
  double most = least;
  for (const SweepResult& result : results) {
    least = std::min(least, value(result.summary));
    most = std::max(most, value(result.summary));
  }
  const std::vector<double> rows = axes.size() > 1 ? axes[1].values : std::vector<double>{0};
  std::string out =
      fmt::format("<h2>{}</h2><div class=\"scroll\"><table><tr><th>{}</th>", title,
                  axes.size() > 1 ? axes[1].name + " \\ " + axes[0].name : axes[0].name);
  for (const double x : axes[0].values) out += fmt::format("<th>{:g}</th>", x);
  out += "</tr>";
  for (const double y : rows) {
    out += axes.size() > 1 ? fmt::format("<tr><th>{:g}</th>", y) : "<tr><th></th>";
    for (const double x : axes[0].values) {
      // With more axes the cell is the best over the others.
      std::optional<double> best;
      for (const SweepResult& result : results) {
        if (result.values[0] != x || (axes.size() > 1 && result.values[1] != y)) continue;
        best = std::min(best.value_or(value(result.summary)), value(result.summary));
      }
      const double share = most > least ? (best.value_or(most) - least) / (most - least) : 0;
      out += fmt::format("<td style=\"background:{};color:#111\">{:.4g}</td>", Heat(share),
                         best.value_or(0));
    }
    out += "</tr>";
  }
  return out + "</table></div>";
}

}  // namespace

base::Result<std::vector<SweepAxis>> ParseSweep(std::string_view text) {
  std::vector<SweepAxis> axes;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    if (FindSetting(name) == nullptr) {
      std::vector<std::string_view> names;
      for (const Setting& setting : kSettings) names.push_back(setting.name);
      return base::Fail(
          base::Code::kInvalidArgument,
          fmt::format("--sweep: '{}' is no setting; there are {}", name, fmt::join(names, ", ")));
    }
    const auto values =
        equals == std::string_view::npos ? std::nullopt : ParseValues(part.substr(equals + 1));
    if (!values) {
      return base::Fail(base::Code::kInvalidArgument,
                        fmt::format("--sweep: '{}' is not like {}=2..12, {}=0..1800/300 or {}=2|5",
                                    part, name, name, name));
    }
    axes.push_back({std::string(name), *values});
  }
  if (axes.empty()) {
    return base::Fail(base::Code::kInvalidArgument, "--sweep: no setting is given");
  }
  return axes;
}

base::Result<std::vector<SweepPoint>> ExpandSweep(const Scenario& base,
                                                  const std::vector<SweepAxis>& axes) {
  std::vector<SweepPoint> points = {{{}, base}};
  for (const SweepAxis& axis : axes) {
    const Setting* setting = FindSetting(axis.name);
    std::vector<SweepPoint> next;
    if (points.size() * axis.values.size() > kMaxPoints) {
      return base::Fail(
          base::Code::kResourceExhausted,
          fmt::format("--sweep: more than {} combinations; take larger steps", kMaxPoints));
    }
    for (const SweepPoint& point : points) {
      for (const double value : axis.values) {
        SweepPoint more = point;
        more.values.push_back(value);
        setting->set(more.scenario, value);
        next.push_back(std::move(more));
      }
    }
    points = std::move(next);
  }
  return points;
}

std::string SweepTable(const std::vector<SweepAxis>& axes,
                       const std::vector<SweepResult>& results) {
  std::string out;
  for (const SweepAxis& axis : axes) out += fmt::format("{:>10}", axis.name);
  for (const Column& column : kColumns) out += fmt::format("{:>13}", column.name);
  out += '\n';
  for (const SweepResult& result : results) {
    for (const double value : result.values) out += fmt::format("{:>10g}", value);
    for (const Column& column : kColumns) {
      out += fmt::format("{:>13.5g}", column.value(result.summary));
    }
    out += '\n';
  }
  return out;
}

std::string SweepHtml(const std::vector<SweepAxis>& axes, const std::vector<SweepResult>& results) {
  std::string out = HtmlHead("Activescale sweep") + "<h1>Sweep</h1>\n";
  if (!results.empty()) {
    out += HeatMap("Pod-hours", axes, results, [](const Summary& s) { return s.pod_hours; });
    out += HeatMap("Latency p99, seconds", axes, results,
                   [](const Summary& s) { return s.latency_p99; });
    out += HeatMap("Direction changes", axes, results,
                   [](const Summary& s) { return static_cast<double>(s.direction_changes); });
  }
  return out + "<h2>All</h2><pre>" + SweepTable(axes, results) + "</pre></body></html>\n";
}

}  // namespace activescale::sim
