#include "queryapi/result_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "base/json_text.h"
#include "base/unix_time.h"
#include "promql/numeric.h"
#include "promql/value_type.h"

namespace activescale::queryapi {
namespace {

void AppendPoint(const series::Sample& point, std::string& out) {
  out += '[';
  AppendTimestamp(point.time_ms, out);
  out += ",\"";
  out += promql::FormatValue(point.value);
  out += "\"]";
}

void AppendSeries(const promql::ResultSeries& series, bool vector, std::string& out) {
  out += R"({"metric":)";
  AppendLabels(series.labels, out);
  if (vector) {
    out += R"(,"value":)";
    AppendPoint(series.points.front(), out);
  } else {
    out += R"(,"values":[)";
    for (const series::Sample& point : series.points) {
      if (out.back() != '[') out += ',';
      AppendPoint(point, out);
    }
    out += ']';
  }
  out += '}';
}

}  // namespace

void AppendTimestamp(int64_t time_ms, std::string& out) {
  if (time_ms < 0) out += '-';
  const uint64_t ms =
      time_ms < 0 ? 0 - static_cast<uint64_t>(time_ms) : static_cast<uint64_t>(time_ms);
  fmt::format_to(std::back_inserter(out), "{}", ms / base::kMsPerSecond);
  if (ms % base::kMsPerSecond != 0) {
    fmt::format_to(std::back_inserter(out), ".{:03}", ms % base::kMsPerSecond);
  }
}

void AppendLabels(const metric::Labels& labels, std::string& out) {
  out += '{';
  for (const auto& [name, value] : labels.entries()) {
    if (out.back() != '{') out += ',';
    base::AppendJsonString(name, out);
    out += ':';
    base::AppendJsonString(value, out);
  }
  out += '}';
}

void AppendResult(const promql::QueryResult& result, int64_t time_ms, size_t limit,
                  std::string& out) {
  out += R"({"resultType":")";
  out += promql::TypeName(result.type);
  out += R"(","result":[)";
  if (result.type == promql::ValueType::kScalar || result.type == promql::ValueType::kString) {
    AppendTimestamp(time_ms, out);
    out += ',';
    base::AppendJsonString(result.type == promql::ValueType::kScalar
                               ? promql::FormatValue(result.scalar)
                               : result.text,
                           out);
  } else {
    const size_t shown = limit == 0 ? result.series.size() : std::min(limit, result.series.size());
    for (const auto& series : std::span(result.series).first(shown)) {
      if (out.back() != '[') out += ',';
      AppendSeries(series, result.type == promql::ValueType::kVector, out);
    }
  }
  out += "]}";
}

}  // namespace activescale::queryapi
