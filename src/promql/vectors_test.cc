// Replays what Prometheus's own engine answered (tests/promql makes the vectors) through Engine.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "base/testing/fake_clock.h"
#include "promql/engine.h"
#include "promql/testing/fixed_source.h"

namespace activescale::promql {
namespace {

namespace json = boost::json;
using Entries = std::vector<metric::Labels::Entry>;

std::string Text(const json::value& value) { return std::string(value.as_string()); }

const json::array& List(const json::object& object, std::string_view key) {
  static const json::array kEmpty;
  const json::value* const value = object.if_contains(key);
  return value == nullptr || value->is_null() ? kEmpty : value->as_array();
}

int64_t Number(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  return value == nullptr ? 0 : value->to_number<int64_t>();
}

metric::Labels ParseLabels(const json::value& object) {
  Entries entries;
  for (const auto& [key, value] : object.as_object()) entries.emplace_back(key, Text(value));
  return metric::Labels(std::move(entries));
}

std::vector<series::Sample> ParsePoints(const json::array& points) {
  std::vector<series::Sample> out;
  for (const json::value& point : points) {
    const std::string value = Text(point.at(1));
    out.push_back({point.at(0).to_number<int64_t>(),
                   value == "stale" ? series::StaleMarker() : std::strtod(value.c_str(), nullptr)});
  }
  return out;
}

FixedSource ParseSource(const json::value& line) {
  FixedSource source;
  for (const json::value& series : line.at("series").as_array()) {
    source.Add(ParseLabels(series.at("labels")), ParsePoints(series.at("points").as_array()));
  }
  return source;
}

/// Equal up to what another order of the same additions, or another libm, may change.
bool Close(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)) || std::abs(a - b) < 1e-11;
}

using Results = std::vector<ResultSeries>;

Results ParseResults(const json::object& vector) {
  Results out;
  for (const json::value& series : List(vector, "result")) {
    out.push_back(
        {ParseLabels(series.at("labels")), ParsePoints(List(series.as_object(), "points"))});
  }
  return out;
}

std::string Print(const Results& results) {
  std::string out;
  for (const ResultSeries& series : results) {
    out += "\n  {";
    for (const auto& [key, value] : series.labels.entries()) out += key + "=" + value + " ";
    out += "}";
    for (const series::Sample& p : series.points) {
      char text[64];
      std::snprintf(text, sizeof(text), " %.17g@%lld", p.value, static_cast<long long>(p.time_ms));
      out += text;
    }
  }
  return out;
}

void SortByLabels(Results& results) {
  std::ranges::sort(results, {},
                    [](const ResultSeries& s) -> const Entries& { return s.labels.entries(); });
}

bool SamePoints(const ResultSeries& a, const ResultSeries& b) {
  return std::ranges::equal(a.points, b.points,
                            [](const series::Sample& x, const series::Sample& y) {
                              return x.time_ms == y.time_ms && Close(x.value, y.value);
                            });
}

/// What differs, or "".
std::string Difference(const json::object& vector, const base::Result<QueryResult>& got) {
  if (vector.contains("error")) {
    return got ? "the real engine refuses it: " + Text(vector.at("error")) : "";
  }
  if (!got) return "ours refuses it: " + got.error().message;
  if (TypeName(got->type) != Text(vector.at("type"))) {
    return "type " + std::string(TypeName(got->type)) + ", want " + Text(vector.at("type"));
  }
  if (got->type == ValueType::kString) {
    const json::value* const text = vector.if_contains("text");
    return got->text == (text == nullptr ? "" : Text(*text)) ? "" : "text '" + got->text + "'";
  }
  Results want = ParseResults(vector);
  Results have = got->series;
  if (got->type == ValueType::kScalar) {
    have = {{metric::Labels(), {{Number(vector, "start"), got->scalar}}}};
  }
  const bool ordered = vector.contains("ordered");
  bool same = have.size() == want.size();
  if (ordered && same) same = std::ranges::equal(have, want, SamePoints);
  SortByLabels(want);
  SortByLabels(have);
  for (size_t i = 0; same && i < want.size(); ++i) {
    same = have[i].labels == want[i].labels && SamePoints(have[i], want[i]);
  }
  return same ? "" : "got" + Print(have) + "\nwant" + Print(want);
}

void Replay(const std::string& path, Dialect dialect) {
  std::ifstream file(path);
  ASSERT_TRUE(file) << "cannot read " << path;
  std::string line;
  std::getline(file, line);
  FixedSource source = ParseSource(json::parse(line));
  const base::FakeClock clock;
  const Engine engine({.dialect = dialect}, source, clock);
  int queries = 0;
  int refused = 0;
  int different = 0;
  while (std::getline(file, line)) {
    const json::value value = json::parse(line);
    const json::object& vector = value.as_object();
    const EvaluationTime time{Number(vector, "start"), Number(vector, "end"),
                              Number(vector, "step")};
    ++queries;
    if (vector.contains("error")) ++refused;
    const std::string difference = Difference(vector, engine.Query(Text(vector.at("expr")), time));
    constexpr int kShown = 30;
    if (!difference.empty() && ++different <= kShown) {
      ADD_FAILURE() << Text(vector.at("expr")) << "\nat " << time.start_ms << ".." << time.end_ms
                    << " step " << time.step_ms << ": " << difference;
    }
  }
  EXPECT_EQ(different, 0);
  EXPECT_GE(queries, 300) << path;
  EXPECT_GE(refused, 10) << path;
  std::cout << queries << " queries, " << refused << " of them refused by the real engine, "
            << different << " differ\n";
}

std::string PathFrom(const char* variable, const char* recorded) {
  const char* const given = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  return given != nullptr ? given : std::string(PROMQL_TESTDATA) + "/" + recorded;
}

TEST(PrometheusVectorsTest, EveryQueryIsAnsweredAsByPrometheus3) {
  Replay(PathFrom("PROMQL_VECTORS", "prometheus3.jsonl"), Dialect::kPrometheus3);
}

TEST(PrometheusVectorsTest, EveryQueryIsAnsweredAsByPrometheus2) {
  Replay(PathFrom("PROMQL_VECTORS_COMPAT2", "prometheus2.jsonl"), Dialect::kPrometheus2);
}

}  // namespace
}  // namespace activescale::promql
