#include "sim/load_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <numbers>
#include <optional>
#include <utility>

namespace activescale::sim {
namespace {

using Points = std::vector<LoadShape::Point>;

/// Levels held for the same time each, with a step between.
Points Steps(std::initializer_list<std::pair<double, double>> seconds_and_qps) {
  Points points;
  double at = 0;
  for (const auto& [seconds, qps] : seconds_and_qps) {
    points.push_back({at, qps});
    at += seconds;
    points.push_back({at, qps});
  }
  return points;
}

/// Straight lines between the corners.
Points Lines(double from, std::initializer_list<std::pair<double, double>> seconds_and_qps) {
  Points points = {{0, from}};
  for (const auto& [seconds, qps] : seconds_and_qps) {
    points.push_back({points.back().at_seconds + seconds, qps});
  }
  return points;
}

/// A week in steps of 5 min: quiet nights, a peak in the afternoon, half the load at weekends.
Points Diurnal() {
  Points points;
  constexpr double kDay = 86400;
  for (double at = 0; at <= 7 * kDay; at += 300) {
    const double phase = 2 * std::numbers::pi * (at / kDay - 15.0 / 24.0);
    const double day = 0.55 + 0.45 * std::cos(phase);
    const double weekend = std::floor(at / kDay) >= 5 ? 0.5 : 1.0;
    points.push_back({at, 20 + 980 * day * day * weekend});
  }
  return points;
}

/// An hour at 100, with a burst of 20 s each five minutes.
Points Spikes() {
  Points points = {{0, 100}};
  for (double at = 300; at < 3600; at += 300) {
    const double burst = 400 + 200 * std::fmod(at / 300, 4);
    points.insert(points.end(), {{at, 100}, {at, burst}, {at + 20, burst}, {at + 20, 100}});
  }
  points.push_back({3600, 100});
  return points;
}

struct NamedShape {
  std::string_view name;
  Points (*make)();
};

constexpr std::array<NamedShape, 7> kShapes = {{
    {"tc1", [] { return Steps({{60, 100}, {240, 1000}}); }},
    {"tc2",
     [] { return Steps({{90, 50}, {90, 200}, {90, 600}, {90, 400}, {90, 800}, {90, 100}}); }},
    {"k6-loki",
     [] {
       return Lines(5, {{120, 50}, {60, 50}, {30, 100}, {30, 50}, {30, 100}, {30, 50}, {120, 0}});
     }},
    {"step", [] { return Steps({{300, 100}, {1200, 500}, {1200, 100}}); }},
    {"ramp",
     [] { return Lines(50, {{300, 50}, {1500, 1000}, {300, 1000}, {900, 50}, {600, 50}}); }},
    {"diurnal", Diurnal},
    {"spikes", Spikes},
}};

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

/// Seconds, or an RFC 3339 time in UTC as seconds since 1970.
std::optional<double> ParseTime(const std::string& text) {
  if (const auto number = ParseNumber(text)) return number;
  std::tm parts{};
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  std::string_view tail(rest);
  double fraction = 0;
  if (tail.starts_with('.')) {
    const size_t end = std::min(tail.find_first_not_of("0123456789", 1), tail.size());
    fraction = ParseNumber("0" + std::string(tail.substr(0, end))).value_or(0);
    tail.remove_prefix(end);
  }
  if (tail != "Z" && tail != "+00:00" && !tail.empty()) return std::nullopt;
  return static_cast<double>(timegm(&parts)) + fraction;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\"";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::unexpected<base::Error> Invalid(std::string message) {
  return base::Fail(base::Code::kInvalidArgument, std::move(message));
}

}  // namespace

base::Result<LoadShape> LoadShape::FromPoints(std::vector<Point> points) {
  if (points.empty()) return Invalid("a load needs at least one point of time and rate");
  for (size_t i = 0; i < points.size(); ++i) {
    if (!(points[i].at_seconds >= 0) || !(points[i].qps >= 0)) {
      return Invalid(fmt::format("load point {}: time {} and rate {} must not be negative", i + 1,
                                 points[i].at_seconds, points[i].qps));
    }
    if (i > 0 && points[i].at_seconds < points[i - 1].at_seconds) {
      return Invalid(fmt::format("load point {}: time {} s comes after {} s; put them in order",
                                 i + 1, points[i].at_seconds, points[i - 1].at_seconds));
    }
  }
  LoadShape shape;
  shape.points_ = std::move(points);
  return shape;
}

base::Result<LoadShape> LoadShape::FromRecording(std::vector<Point> points, std::string_view unit,
                                                 size_t first) {
  std::vector<double> spacing;
  for (size_t i = 1; i < points.size(); ++i) {
    spacing.push_back(points[i].at_seconds - points[i - 1].at_seconds);
  }
  if (spacing.size() >= 3) {
    std::vector<double> sorted = spacing;
    std::ranges::nth_element(sorted, sorted.begin() + static_cast<long>(sorted.size() / 2));
    const double median = sorted[sorted.size() / 2];
    for (size_t i = 0; i < spacing.size(); ++i) {
      if (median > 0 && spacing[i] > 10 * median) {
        return Invalid(
            fmt::format("{} {}: a gap of {:.0f} s where others are {:.0f} s apart; fill it in or "
                        "take the time before or after it",
                        unit, first + i + 1, spacing[i], median));
      }
    }
  }
  return FromPoints(std::move(points));
}

base::Result<LoadShape> LoadShape::Named(std::string_view name) {
  for (const NamedShape& shape : kShapes) {
    if (shape.name == name) return FromPoints(shape.make());
  }
  return Invalid(
      fmt::format("no load shape is called '{}'; there are {}", name, fmt::join(Names(), ", ")));
}

std::vector<std::string_view> LoadShape::Names() {
  std::vector<std::string_view> names;
  for (const NamedShape& shape : kShapes) names.push_back(shape.name);
  return names;
}

base::Result<LoadShape> LoadShape::FromCsv(std::string_view text, double latency_seconds) {
  Points points;
  double scale = 1;
  std::optional<double> first;
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.empty()) continue;
    const size_t comma = row.find(',');
    if (comma == std::string_view::npos) {
      return Invalid(
          fmt::format("CSV line {}: '{}' has no comma; expected two columns", line, row));
    }
    const std::string_view left = Trim(row.substr(0, comma));
    const std::string_view right = Trim(row.substr(comma + 1));
    if (line == 1) {
      if (left != "time" || (right != "qps" && right != "inflight")) {
        return Invalid(fmt::format(
            "CSV line 1: the header is '{}'; it must be time,qps or time,inflight", row));
      }
      if (right == "inflight") scale = 1 / latency_seconds;
      continue;
    }
    const auto at = ParseTime(std::string(left));
    if (!at) {
      return Invalid(fmt::format(
          "CSV line {}, column time: '{}' is neither seconds nor an RFC 3339 time in UTC", line,
          left));
    }
    const auto value = ParseNumber(right);
    if (!value || *value < 0) {
      return Invalid(
          fmt::format("CSV line {}, column 2: '{}' is no number of 0 or more", line, right));
    }
    if (!first) first = at;
    if (!points.empty() && *at - *first < points.back().at_seconds) {
      return Invalid(fmt::format("CSV line {}, column time: earlier than the line before", line));
    }
    points.push_back({*at - *first, *value * scale});
  }
  if (points.empty()) return Invalid("CSV: no rows below the header");
  return FromRecording(std::move(points), "CSV line", 2);
}

double LoadShape::QpsAt(double seconds) const {
  if (points_.empty()) return 0;
  const auto after = std::ranges::upper_bound(points_, seconds, {}, &Point::at_seconds);
  if (after == points_.begin()) return points_.front().qps;
  if (after == points_.end()) return points_.back().qps;
  const Point& a = *(after - 1);
  const double share = (seconds - a.at_seconds) / (after->at_seconds - a.at_seconds);
  return a.qps + share * (after->qps - a.qps);
}

double LoadShape::duration_seconds() const {
  return points_.empty() ? 0 : points_.back().at_seconds;
}

double LoadShape::max_qps() const {
  double most = 0;
  for (const Point& point : points_) most = std::max(most, point.qps);
  return most;
}

}  // namespace activescale::sim
