#include "metricsapi/external_metrics.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_text.h"
#include "metric/quantity.h"
#include "metricsapi/metric_value_list.h"
#include "metricsapi/status.h"

namespace activescale::metricsapi {

namespace {

using base::Code;
using base::Fail;

/// One ExternalMetricValue. Source: k8s.io/metrics:pkg/apis/external_metrics/v1beta1/types.go.
void AppendValue(std::string_view name, const signal::Reading& reading, std::string_view timestamp,
                 std::string& out) {
  out += R"({"metricName":)";
  base::AppendJsonString(name, out);
  out += R"(,"metricLabels":{)";
  for (const auto& [label, value] : reading.labels.entries()) {
    if (out.back() == '"') out += ',';
    base::AppendJsonString(label, out);
    out += ':';
    base::AppendJsonString(value, out);
  }
  // Readings are within what a sample may be, so there always is a quantity.
  const auto quantity = metric::Quantity::FromSample(reading.value).value_or(metric::Quantity());
  out += fmt::format(R"(}},"timestamp":"{}","value":"{}"}})", timestamp, quantity.ToString());
}

}  // namespace

base::Result<ExternalMetricsQuery> ParseExternalMetricsQuery(const RequestTarget& target) {
  const std::vector<std::string>& parts = target.segments;
  if (parts.size() != 6 || parts[3] != "namespaces") {
    return Fail(Code::kNotFound,
                "no signal has this path; signals are at /namespaces/{namespace}/{signal}");
  }
  auto selector = metric::Selector::Parse(target.Parameter("labelSelector").value_or(""));
  if (!selector) {
    return Fail(selector.error().code,
                fmt::format("labelSelector: {}", selector.error().message.substr(0, 512)));
  }
  return ExternalMetricsQuery{parts[4], parts[5], *std::move(selector)};
}

std::string QuestionOf(const ExternalMetricsQuery& query) {
  return fmt::format("signal {}/{} {}", query.ns, query.name, query.selector.ToString());
}

void ExternalMetrics::Read(ExternalMetricsQuery query, net::HttpResponder respond) const {
  post_([this, query = std::move(query), respond = std::move(respond)]() mutable {
    respond(Answer(query));
  });
}

void ExternalMetrics::ReadValues(ExternalMetricsQuery query, Answered done) const {
  post_([this, query = std::move(query), done = std::move(done)]() mutable {
    done(Evaluate(query, std::nullopt));
  });
}

ApiGroup ExternalMetrics::Group() const {
  ApiGroup group{std::string(kExternalMetricsGroup),
                 {"v1beta1"},
                 "ExternalMetricValueList",
                 signals_()->Names()};
  if (group.resources.empty()) group.resources.emplace_back("externalmetrics");
  return group;
}

base::Result<std::vector<signal::Reading>> ExternalMetrics::Evaluate(
    const ExternalMetricsQuery& query, std::optional<int64_t> at_ms) const {
  const std::shared_ptr<const signal::Catalogue> signals = signals_();
  const auto found = signals->Find(query.ns, query.name);
  if (!found) return std::unexpected(found.error());
  auto readings = reader_.Read(**found, at_ms);
  if (!readings) return std::unexpected(std::move(readings.error()));
  const size_t all = readings->size();
  std::erase_if(*readings, [&query](const signal::Reading& reading) {
    return !query.selector.Matches(reading.labels);
  });
  if (!readings->empty()) return readings;
  return Fail(Code::kNotFound,
              fmt::format("none of the {} values of signal {} has labels that match \"{}\"", all,
                          query.name, query.selector.ToString()));
}

net::HttpResponse ExternalMetrics::Answer(const ExternalMetricsQuery& query) const {
  const std::optional<int64_t> standing = moments_.Of(QuestionOf(query));
  const auto readings = Evaluate(query, standing);
  if (!readings) {
    return StatusResponse(readings.error(), {std::string(kExternalMetricsGroup), query.name, ""});
  }
  const std::string timestamp = FormatRfc3339(
      standing ? base::WallTime(std::chrono::milliseconds(*standing)) : clock_.WallNow());
  net::HttpResponse response;
  response.body =
      R"({"kind":"ExternalMetricValueList","apiVersion":"external.metrics.k8s.io/v1beta1",)"
      R"("metadata":{},"items":[)";
  for (const signal::Reading& reading : *readings) {
    if (&reading != readings->data()) response.body += ',';
    AppendValue(query.name, reading, timestamp, response.body);
  }
  response.body += "]}\n";
  return response;
}

}  // namespace activescale::metricsapi
