#include "queryapi/query_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <utility>

#include "base/json_text.h"
#include "base/percent.h"
#include "base/unix_time.h"
#include "promql/literal.h"
#include "promql/parser.h"
#include "queryapi/metadata_list.h"
#include "queryapi/parameters.h"
#include "queryapi/result_json.h"

namespace activescale::queryapi {
namespace {

constexpr std::string_view kRoot = "/api/v1/";
constexpr std::string_view kUsualPrefix = "/prometheus";
// A minute's steps of a week, or an hour's of a year. Source: api.go, queryRange.
constexpr int64_t kMaxSteps = 11'000;
constexpr int64_t kNoTimeout = std::numeric_limits<int64_t>::max();
constexpr std::string_view kTruncated = "results truncated due to limit";
constexpr std::string_view kPartial =
    "a window of the query begins before the recording of its series: its values stand for a part "
    "of it";

std::unexpected<Fault> Failed(const base::Error& error) {
  return std::unexpected(EvaluationFault(error));
}

/// A parameter's error.
std::unexpected<Fault> Bad(const base::Error& error) { return BadData(error.message); }

/// Texts as an array, at most `limit` of them unless that is 0.
template <typename Texts>
Reply ListReply(const Texts& texts, size_t limit) {
  Reply reply{.data = "["};
  size_t shown = 0;
  for (const auto& text : texts) {
    if (limit > 0 && shown++ == limit) {
      reply.warnings.emplace_back(kTruncated);
      break;
    }
    if (reply.data.back() != '[') reply.data += ',';
    base::AppendJsonString(text, reply.data);
  }
  reply.data += ']';
  return reply;
}

base::Result<promql::ExprPtr> ParseQuery(const Form& form, promql::Dialect dialect) {
  auto expr = promql::Parse(form.Find("query").value_or(""), dialect);
  if (expr) return expr;
  return base::Fail(expr.error().code,
                    fmt::format("invalid parameter \"query\": {}", expr.error().message));
}

Reply ResultReply(const promql::QueryResult& result, int64_t time_ms, size_t limit) {
  Reply reply;
  AppendResult(result, time_ms, limit, reply.data);
  if (limit > 0 && result.series.size() > limit) reply.warnings.emplace_back(kTruncated);
  if (!result.whole) reply.warnings.emplace_back(kPartial);
  return reply;
}

std::optional<std::string> CheckRange(const promql::EvaluationTime& time) {
  if (time.end_ms < time.start_ms) {
    return "invalid parameter \"end\": end timestamp must not be before start time";
  }
  if (time.step_ms <= 0) {
    return "invalid parameter \"step\": zero or negative query resolution step widths are not "
           "accepted. Try a positive integer";
  }
  if ((time.end_ms - time.start_ms) / time.step_ms > kMaxSteps) {
    return "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query "
           "resolution (?step=XX)";
  }
  return std::nullopt;
}

}  // namespace

/// What a request asks for.
struct QueryApi::Question {
  Form form;
  std::string_view label;  // of the path, where the endpoint has one
  std::string_view ns;     // the only one whose series there are; empty: all
};

/// A path below /api/v1/, where "<>" stands for a label's name.
struct QueryApi::Endpoint {
  std::string_view path;
  bool by_post;
  Outcome (QueryApi::*answer)(const Question& question);

  /// The label if the path is this one; "" where it has none.
  [[nodiscard]] std::optional<std::string_view> Match(std::string_view text) const {
    const size_t hole = path.find("<>");
    if (hole == std::string_view::npos) {
      return text == path ? std::optional<std::string_view>("") : std::nullopt;
    }
    const std::string_view tail = path.substr(hole + 2);
    if (text.size() <= hole + tail.size() || !text.starts_with(path.substr(0, hole)) ||
        !text.ends_with(tail)) {
      return std::nullopt;
    }
    return text.substr(hole, text.size() - hole - tail.size());
  }
};

constexpr std::array<QueryApi::Endpoint, QueryApi::kEndpoints> QueryApi::kTable = {{
    {"query", true, &QueryApi::Query},
    {"query_range", true, &QueryApi::QueryRange},
    {"series", true, &QueryApi::ListSeries},
    {"labels", true, &QueryApi::ListLabels},
    {"label/<>/values", false, &QueryApi::ListValues},
    {"metadata", false, &QueryApi::Metadata},
    {"status/buildinfo", false, &QueryApi::BuildInfo},
}};

QueryApi::QueryApi(Options options, const signal::Evaluator& evaluator,
                   const series::SeriesStore& series, const base::Clock& clock,
                   telemetry::Registry& registry)
    : options_(std::move(options)), evaluator_(evaluator), series_(series), clock_(clock) {
  for (size_t endpoint = 0; endpoint < kEndpoints; ++endpoint) {
    for (size_t type = 0; type <= kErrorTypes; ++type) {
      const std::string_view result =
          type == kErrorTypes ? "success" : ErrorTypeName(static_cast<ErrorType>(type));
      requests_[endpoint][type] = &registry.AddCounter(
          "activescale_query_requests_total", "Requests to the query API, by what came of them.",
          {{"endpoint", std::string(kTable[endpoint].path)}, {"result", std::string(result)}});
    }
  }
}

void QueryApi::Handle(net::HttpRequest request, net::HttpResponder respond) {
  respond(Answer(request));
}

std::string_view QueryApi::StripPrefix(std::string_view path) const {
  for (const std::string_view prefix : {std::string_view(options_.path_prefix), kUsualPrefix}) {
    if (!prefix.empty() && path.starts_with(prefix) && path.substr(prefix.size()).starts_with('/'))
      return path.substr(prefix.size());
  }
  return path;
}

net::HttpResponse QueryApi::Answer(const net::HttpRequest& request, std::string_view ns) {
  const std::string_view target = request.target;
  const std::string_view path = StripPrefix(target.substr(0, target.find('?')));
  const std::string_view name = path.starts_with(kRoot) ? path.substr(kRoot.size()) : "";
  for (size_t i = 0; i < kEndpoints; ++i) {
    const Endpoint& endpoint = kTable[i];
    const auto label = endpoint.Match(name);
    if (!label) continue;
    if (request.method != "GET" && !(endpoint.by_post && request.method == "POST")) {
      net::HttpResponse refused = RenderHttpError(405, request.method + " is not served here");
      refused.headers.emplace_back("Allow", endpoint.by_post ? "GET, POST" : "GET");
      return refused;
    }
    auto form = Form::Parse(request);
    const Outcome outcome =
        form ? (this->*endpoint.answer)({*std::move(form), *label, ns}) : Bad(form.error());
    requests_[i][outcome ? kErrorTypes : static_cast<size_t>(outcome.error().type)]->Increment();
    return Render(outcome);
  }
  return Render(std::unexpected(
      Fault{ErrorType::kNotFound,
            fmt::format("nothing is served at {}: this is Prometheus's query API, under {}",
                        target.substr(0, std::min<size_t>(target.find('?'), 253)), kRoot)}));
}

Outcome QueryApi::Query(const Question& question) {
  const auto time = TimeParameter(question.form, "time", base::UnixMsNow(clock_));
  if (!time) return Bad(time.error());
  const auto timeout = LengthParameter(question.form, "timeout", kNoTimeout);
  if (!timeout) return Bad(timeout.error());
  const auto limit = CountParameter(question.form, "limit");
  if (!limit) return Bad(limit.error());
  const auto expr = ParseQuery(question.form, options_.dialect);
  if (!expr) return Bad(expr.error());
  const bool partial = question.form.Find("partial_window") == "serve";
  const auto result = evaluator_.Evaluate(
      **expr, promql::EvaluationTime::At(*time),
      {.ns = std::string(question.ns),
       .partial_window = partial ? signal::PartialWindow::kServe : signal::PartialWindow::kMissing,
       .timeout = std::chrono::milliseconds(*timeout)});
  if (!result) return Failed(result.error());
  return ResultReply(*result, *time, static_cast<size_t>(*limit));
}

Outcome QueryApi::QueryRange(const Question& question) {
  promql::EvaluationTime time;
  int64_t timeout_ms = 0;
  const std::pair<base::Result<int64_t>, int64_t*> parameters[] = {
      {TimeParameter(question.form, "start", std::nullopt), &time.start_ms},
      {TimeParameter(question.form, "end", std::nullopt), &time.end_ms},
      {LengthParameter(question.form, "step", std::nullopt), &time.step_ms},
      {LengthParameter(question.form, "timeout", kNoTimeout), &timeout_ms},
  };
  for (const auto& [value, member] : parameters) {
    if (!value) return Bad(value.error());
    *member = *value;
  }
  if (auto wrong = CheckRange(time)) return BadData(*std::move(wrong));
  const auto limit = CountParameter(question.form, "limit");
  if (!limit) return Bad(limit.error());
  const auto expr = ParseQuery(question.form, options_.dialect);
  if (!expr) return Bad(expr.error());
  const promql::ValueType type = (*expr)->type;
  if (type != promql::ValueType::kVector && type != promql::ValueType::kScalar) {
    return BadData(
        fmt::format("invalid parameter \"query\": invalid expression type \"{}\" for "
                    "range query, must be Scalar or instant Vector",
                    type == promql::ValueType::kMatrix ? "range vector" : "string"));
  }
  const auto result = evaluator_.Evaluate(**expr, time,
                                          {.ns = std::string(question.ns),
                                           .partial_window = signal::PartialWindow::kServe,
                                           .timeout = std::chrono::milliseconds(timeout_ms)});
  if (!result) return Failed(result.error());
  return ResultReply(*result, time.start_ms, static_cast<size_t>(*limit));
}

base::Result<QueryApi::FoundSeries> QueryApi::Find(const Question& question) const {
  const auto start = TimeParameter(question.form, "start", series::kMinTime);
  if (!start) return std::unexpected(start.error());
  const auto end = TimeParameter(question.form, "end", series::kMaxTime);
  if (!end) return std::unexpected(end.error());
  std::vector<series::Matchers> selectors;
  for (const std::string_view text : question.form.FindAll("match[]")) {
    auto matchers = ParseSelector(text, options_.dialect);
    if (!matchers) return std::unexpected(matchers.error());
    selectors.push_back(*std::move(matchers));
  }
  if (selectors.empty()) selectors.emplace_back();
  if (!question.ns.empty()) {
    const auto own =
        series::Matcher::Make(series::Matcher::Op::kEqual, "namespace", std::string(question.ns));
    if (!own) return std::unexpected(own.error());
    for (series::Matchers& matchers : selectors) matchers.push_back(*own);
  }
  FoundSeries found;
  for (const series::Matchers& matchers : selectors) {
    for (auto& series : series_.Find(matchers)) {
      if (series->last_ms() >= *start && series->first_ms() <= *end) {
        found.push_back(std::move(series));
      }
    }
  }
  const auto entries = [](const auto& series) -> const auto& { return series->labels().entries(); };
  std::ranges::sort(found, {}, entries);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

Outcome QueryApi::ListSeries(const Question& question) {
  if (question.form.FindAll("match[]").empty()) return BadData("no match[] parameter provided");
  const auto limit = CountParameter(question.form, "limit");
  if (!limit) return Bad(limit.error());
  const auto found = Find(question);
  if (!found) return Bad(found.error());
  Reply reply{.data = "["};
  const size_t most = *limit == 0 ? found->size() : static_cast<size_t>(*limit);
  for (size_t i = 0; i < std::min(most, found->size()); ++i) {
    if (i > 0) reply.data += ',';
    AppendLabels((*found)[i]->labels(), reply.data);
  }
  reply.data += ']';
  if (most < found->size()) reply.warnings.emplace_back(kTruncated);
  return reply;
}

Outcome QueryApi::ListLabels(const Question& question) {
  const auto limit = CountParameter(question.form, "limit");
  if (!limit) return Bad(limit.error());
  const auto found = Find(question);
  if (!found) return Bad(found.error());
  std::set<std::string_view> names;
  for (const auto& series : *found) {
    for (const auto& [name, value] : series->labels().entries()) names.insert(name);
  }
  return ListReply(names, static_cast<size_t>(*limit));
}

Outcome QueryApi::ListValues(const Question& question) {
  const auto name = base::PercentDecode(question.label);
  if (!name || !promql::IsLabelName(*name, options_.dialect)) {
    return BadData(
        fmt::format("invalid label name: \"{}\"", name.value_or(std::string(question.label))));
  }
  const auto limit = CountParameter(question.form, "limit");
  if (!limit) return Bad(limit.error());
  const auto found = Find(question);
  if (!found) return Bad(found.error());
  std::set<std::string_view> values;
  for (const auto& series : *found) {
    if (const auto value = series->labels().Get(*name)) values.insert(*value);
  }
  return ListReply(values, static_cast<size_t>(*limit));
}

Outcome QueryApi::Metadata(const Question& question) {
  const auto limit = LimitParameter(question.form, "limit");
  if (!limit) return Bad(limit.error());
  const auto per_metric = LimitParameter(question.form, "limit_per_metric");
  if (!per_metric) return Bad(per_metric.error());
  MetadataList::Limits limits{.metric = question.form.Find("metric").value_or("")};
  if (*limit >= 0) limits.metrics = static_cast<size_t>(*limit);
  if (*per_metric > 0) limits.per_metric = static_cast<size_t>(*per_metric);  // 0: all
  MetadataList list(limits);
  list.Add(options_.own_metadata);
  const auto pages = series_.metadata().Pages();
  for (const auto& page : pages) {
    if (question.ns.empty() || page->ns == question.ns) list.Add(page->metrics);
  }
  return Reply{.data = list.Render()};
}

/// Clients choose what they ask for by this version, so it is that of the Prometheus whose rules
/// hold here.
Outcome QueryApi::BuildInfo(const Question& /*question*/) {
  const bool old = options_.dialect == promql::Dialect::kPrometheus2;
  Reply reply{.data = R"({"version":")"};
  reply.data += old ? "2.42.0" : "3.0.0";
  reply.data += R"(","revision":"","branch":"","buildUser":"","buildDate":"","goVersion":"",)";
  reply.data += R"("application":"Activescale","applicationVersion":)";
  base::AppendJsonString(options_.version, reply.data);
  reply.data += '}';
  return reply;
}

}  // namespace activescale::queryapi
