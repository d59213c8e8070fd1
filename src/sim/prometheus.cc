#include "sim/prometheus.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "base/percent.h"

namespace activescale::sim {
namespace {

namespace json = boost::json;

constexpr int64_t kPointsAtOnce = 10'000;

std::unexpected<base::Error> Unusable(std::string message) {
  return base::Fail(base::Code::kInvalidArgument, std::move(message));
}

/// The member of an object; null if there is none.
const json::value* Member(const json::value& value, std::string_view key) {
  const json::object* object = value.if_object();
  return object == nullptr ? nullptr : object->if_contains(key);
}

std::string_view Text(const json::value* value) {
  if (value == nullptr || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

const json::array* List(const json::value* value) {
  return value == nullptr ? nullptr : value->if_array();
}

/// [1435781430.781, "1.5"] into `series`; false if it is not that.
base::Result<void> AddSample(const json::value& pair, HistorySeries* series) {
  const json::array* parts = pair.if_array();
  if (parts == nullptr || parts->size() != 2 || !(*parts)[0].is_number()) {
    return Unusable("Prometheus's answer has a sample that is no pair of time and value");
  }
  const double at = (*parts)[0].to_number<double>();
  const std::string_view text = Text(&(*parts)[1]);
  if (text == "NaN" || text == "+Inf" || text == "-Inf") return {};
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return Unusable(fmt::format("Prometheus's answer has the value \"{}\"", text));
  }
  if (value < 0) {
    return Unusable(fmt::format("the query gives {} at {:.0f}: work cannot be below 0", text, at));
  }
  if (series->samples.empty() || series->samples.back().at_seconds < at) {
    series->samples.push_back({at, value});
  }
  return {};
}

}  // namespace

base::Result<std::vector<std::string>> RangeUrls(const RangeQuery& query) {
  const bool http = query.url.starts_with("http://") || query.url.starts_with("https://");
  if (!http) return Unusable("--prometheus: give a URL that begins with http:// or https://");
  if (query.url.find('@') != std::string::npos) {
    return Unusable("--prometheus: give the URL without user and password");
  }
  if (query.query.empty()) return Unusable("--query: say what to ask Prometheus for");
  std::string root = query.url;
  while (root.ends_with('/')) root.pop_back();
  std::vector<std::string> urls;
  const int64_t span = query.step * kPointsAtOnce;
  for (int64_t from = query.start; from <= query.end; from += span) {
    const int64_t to = std::min(query.end, from + span - query.step);
    urls.push_back(fmt::format("{}/api/v1/query_range?query={}&start={}&end={}&step={}", root,
                               base::PercentEncode(query.query), from, to, query.step));
  }
  return urls;
}

base::Result<void> RangeAnswers::Add(int http_status, std::string_view body) {
  json::error_code error;
  const json::value answer = json::parse(body, error);
  if (error || !answer.is_object()) {
    return base::Fail(base::Code::kUnavailable,
                      fmt::format("Prometheus answered {} with what is no JSON object: is the URL "
                                  "that of its root?",
                                  http_status));
  }
  if (Text(Member(answer, "status")) != "success") {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("Prometheus refuses the query ({}): {}", http_status,
                                  Text(Member(answer, "error"))));
  }
  const json::value* data = Member(answer, "data");
  const json::array* series = data == nullptr ? nullptr : List(Member(*data, "result"));
  if (series == nullptr || Text(Member(*data, "resultType")) != "matrix") {
    return Unusable("Prometheus's answer is no matrix of series");
  }
  for (const json::value& one : *series) {
    const json::value* labels = Member(one, "metric");
    const json::array* values = List(Member(one, "values"));
    if (labels == nullptr || values == nullptr) continue;
    HistorySeries& into = by_labels_[json::serialize(*labels)];
    for (const json::value& pair : *values) {
      if (auto added = AddSample(pair, &into); !added) return added;
    }
  }
  return {};
}

base::Result<std::vector<HistorySeries>> RangeAnswers::Take() && {
  std::vector<HistorySeries> out;
  for (auto& [labels, series] : by_labels_) {
    if (!series.samples.empty()) out.push_back(std::move(series));
  }
  if (out.empty()) {
    return base::Fail(base::Code::kNotFound,
                      "Prometheus has no sample for the query in that time: check the names of "
                      "metric and labels");
  }
  return out;
}

}  // namespace activescale::sim
