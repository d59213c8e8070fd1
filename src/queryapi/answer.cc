#include "queryapi/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <boost/json.hpp>

#include "base/json_text.h"
#include "base/sparkline.h"
#include "promql/literal.h"

namespace activescale::queryapi {
namespace {

namespace json = boost::json;

base::Error NoAnswer(std::string_view what) {
  return {base::Code::kInvalidArgument,
          fmt::format("the server's answer is none of Prometheus's query API: {}", what)};
}

/// The member of that name, or a null value.
const json::value& Member(const json::value& value, std::string_view name) {
  static const json::value kNull;
  const json::object* const object = value.if_object();
  const json::value* const member = object != nullptr ? object->if_contains(name) : nullptr;
  return member != nullptr ? *member : kNull;
}

std::string_view Text(const json::value& value) {
  const json::string* const text = value.if_string();
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

std::string SeriesName(const json::value& labels) {
  std::string name(Text(Member(labels, "__name__")));
  std::string rest;
  if (const json::object* const object = labels.if_object()) {
    for (const auto& [label, value] : *object) {
      if (label == "__name__") continue;
      rest += rest.empty() ? "" : ",";
      rest += std::string_view(label);
      rest += '=';
      base::AppendJsonString(Text(value), rest);
    }
  }
  return rest.empty() && !name.empty() ? name : name + "{" + rest + "}";
}

/// `[1435781430.781, "1"]`.
bool AddPoint(const json::value& value, AnswerSeries& series) {
  const json::array* const pair = value.if_array();
  if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_number()) return false;
  series.points.emplace_back((*pair)[0].to_number<double>(), Text((*pair)[1]));
  return true;
}

bool AddSeries(const json::value& value, Answer& answer) {
  AnswerSeries series{.name = SeriesName(Member(value, "metric"))};
  const json::value& single = Member(value, "value");
  if (!single.is_null()) {
    if (!AddPoint(single, series)) return false;
  } else {
    const json::array* const points = Member(value, "values").if_array();
    if (points == nullptr) return false;
    for (const json::value& point : *points) {
      if (!AddPoint(point, series)) return false;
    }
  }
  answer.series.push_back(std::move(series));
  return true;
}

double Number(const std::string& text) {
  const bool negative = text.starts_with('-');
  const bool sign = negative || text.starts_with('+');
  const double value = promql::ParseDecimal(std::string_view(text).substr(sign ? 1 : 0))
                           .value_or(std::numeric_limits<double>::quiet_NaN());
  return negative ? -value : value;
}

/// Values in at most `width` equal parts of the points, the largest of each.
std::vector<double> Condense(const std::vector<double>& values, size_t width) {
  const size_t columns = std::min(width, values.size());
  std::vector<double> out(columns, -std::numeric_limits<double>::infinity());
  for (size_t i = 0; i < values.size(); ++i) {
    double& slot = out[i * columns / values.size()];
    if (values[i] > slot) slot = values[i];
  }
  return out;
}

std::string Plot(const AnswerSeries& series, size_t width) {
  std::vector<double> values;
  for (const auto& [time, text] : series.points) values.push_back(Number(text));
  double least = std::numeric_limits<double>::quiet_NaN();
  double most = least;
  for (const double value : values) {
    least = std::fmin(least, value);
    most = std::fmax(most, value);
  }
  return fmt::format("{:>12} {:>12.6g} {:>12.6g}  {}", series.points.back().second, least, most,
                     base::Sparkline(Condense(values, width), most));
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

}  // namespace

base::Result<Answer> ReadAnswer(std::string_view body) {
  boost::system::error_code broken;
  const json::value root = json::parse(body, broken);
  if (broken) return std::unexpected(NoAnswer("no JSON"));
  if (Text(Member(root, "status")) == "error") {
    return base::Fail(
        base::Code::kInvalidArgument,
        fmt::format("{} ({})", Text(Member(root, "error")), Text(Member(root, "errorType"))));
  }
  const json::value& data = Member(root, "data");
  const json::array* const result = Member(data, "result").if_array();
  if (result == nullptr) return std::unexpected(NoAnswer("it has no result"));
  Answer answer;
  const std::string_view type = Text(Member(data, "resultType"));
  if (type == "scalar" || type == "string") {
    answer.series.emplace_back();
    if (!AddPoint(*Member(data, "result").if_array(), answer.series.back())) {
      return std::unexpected(NoAnswer("a value is none"));
    }
  } else {
    for (const json::value& series : *result) {
      if (!AddSeries(series, answer)) return std::unexpected(NoAnswer("a series is none"));
    }
  }
  if (const json::array* const warnings = Member(root, "warnings").if_array()) {
    for (const json::value& warning : *warnings) answer.warnings.emplace_back(Text(warning));
  }
  return answer;
}

std::string AnswerTable(const Answer& answer, size_t width) {
  size_t names = 6;
  bool ranges = false;
  for (const AnswerSeries& series : answer.series) {
    names = std::max(names, series.name.size());
    ranges = ranges || series.points.size() > 1;
  }
  std::string out = ranges ? fmt::format("{:<{}}  {:>12} {:>12} {:>12}\n", "series", names, "last",
                                         "least", "most")
                           : fmt::format("{:<{}}  {:>12}\n", "series", names, "value");
  for (const AnswerSeries& series : answer.series) {
    const std::string values = series.points.empty() ? ""
                               : ranges              ? Plot(series, width)
                                        : fmt::format("{:>12}", series.points[0].second);
    out += fmt::format("{:<{}}  {}\n", series.name, names, values);
  }
  if (answer.series.empty()) out += "(no series)\n";
  return out;
}

std::string AnswerCsv(const Answer& answer) {
  std::string out = "series,time,value\n";
  for (const AnswerSeries& series : answer.series) {
    for (const auto& [time, value] : series.points) {
      fmt::format_to(std::back_inserter(out), "{},{:.3f},{}\n", Quoted(series.name), time, value);
    }
  }
  return out;
}

}  // namespace activescale::queryapi
