#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>

#include "metricsapi/custom_metrics.h"

namespace activescale::metricsapi {

namespace {

using base::Code;
using base::Fail;
using base::Result;

/// RFC 1123 labels joined by dots, at most 253 bytes: what Kubernetes takes as an object's name.
bool IsObjectName(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  const auto is_alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  for (size_t i = 0; i < name.size(); ++i) {
    if (is_alnum(name[i])) continue;
    const bool inside = i > 0 && i + 1 < name.size();
    if (!inside || (name[i] != '-' && name[i] != '.')) return false;
    if (name[i] == '.' && (!is_alnum(name[i - 1]) || !is_alnum(name[i + 1]))) return false;
  }
  return true;
}

/// An RFC 1123 label: what Kubernetes takes as a namespace.
bool IsNamespaceName(std::string_view name) {
  return name.size() <= 63 && name.find('.') == std::string_view::npos && IsObjectName(name);
}

std::string Shown(std::string_view text) {
  return text.size() <= 253 ? std::string(text) : std::string(text.substr(0, 250)) + "...";
}

std::string KnownMetrics() {
  std::string known;
  for (const std::string_view name : metric::kMetricNames) {
    if (!known.empty()) known += ", ";
    known += name;
  }
  return known;
}

Result<metric::Selector> ParseSelectorParameter(const RequestTarget& target,
                                                std::string_view parameter) {
  auto selector = metric::Selector::Parse(target.Parameter(parameter).value_or(""));
  if (!selector) {
    return Fail(selector.error().code,
                fmt::format("{}: {}", parameter, Shown(selector.error().message)));
  }
  return selector;
}

/// The window that a metric selector asks for by window=2m,stat=p75.
Result<std::optional<signal::WindowStatistic>> ParseWindow(const metric::Selector& selector) {
  std::string_view window;
  std::string_view stat;
  for (const metric::Requirement& requirement : selector.requirements()) {
    if (requirement.key != kWindowKey && requirement.key != kStatKey) continue;
    if (requirement.op != metric::Requirement::Op::kIn || requirement.values.size() != 1) {
      return Fail(
          Code::kInvalidArgument,
          fmt::format("metricLabelSelector: {0} must be given as {0}=...", requirement.key));
    }
    (requirement.key == kWindowKey ? window : stat) = requirement.values[0];
  }
  if (window.empty() && stat.empty()) return std::nullopt;
  auto parsed = signal::WindowStatistic::Parse(window, stat);
  if (!parsed) {
    return Fail(Code::kInvalidArgument, "metricLabelSelector: " + parsed.error().message);
  }
  return *parsed;
}

/// The parts behind the version, if they are of the one form that is served.
Result<void> ParseObject(std::span<const std::string> parts, CustomMetricsQuery& query) {
  if (parts.size() == 4 && parts[0] == "namespaces" && parts[2] == "metrics") {
    return Fail(Code::kNotFound,
                "metrics of a namespace as a whole are not served; ask for its pods: "
                "/namespaces/{namespace}/pods/*/{metric}");
  }
  if (parts.size() != 5 || parts[0] != "namespaces") {
    return Fail(Code::kNotFound,
                "no metric has this path; metrics of pods are at "
                "/namespaces/{namespace}/pods/{name or *}/{metric}, the sum over a workload's pods "
                "at /namespaces/{namespace}/{resource.group}/{name}/{metric}; objects outside of "
                "namespaces have none");
  }
  query.ns = parts[1];
  query.resource = parts[2];
  query.name = parts[3];
  if (!IsNamespaceName(query.ns)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("\"{}\" is not the name of a namespace", Shown(query.ns)));
  }
  if (!IsObjectName(query.resource)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("\"{}\" is not a resource", Shown(query.resource)));
  }
  if (query.name == "*" && query.resource != "pods") {
    return Fail(Code::kNotFound,
                fmt::format("\"*\" is served for pods only; ask for one of the {} by its name",
                            query.resource));
  }
  if (query.name != "*" && !IsObjectName(query.name)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("\"{}\" is not the name of an object", Shown(query.name)));
  }
  return {};
}

}  // namespace

Result<CustomMetricsQuery> ParseCustomMetricsQuery(const RequestTarget& target) {
  CustomMetricsQuery query;
  const std::span<const std::string> parts(target.segments);
  if (target.segments[2] == "v1beta1") query.version = CustomMetricsVersion::kV1Beta1;
  if (auto parsed = ParseObject(parts.subspan(3), query); !parsed) {
    return std::unexpected(parsed.error());
  }
  const auto kind = metric::ParseMetricKind(parts.back());
  if (!kind) {
    return Fail(Code::kNotFound, fmt::format("the metric \"{}\" is not known; known are {}",
                                             Shown(parts.back()), KnownMetrics()));
  }
  query.metric = *kind;
  if (!target.Parameter("fieldSelector").value_or("").empty()) {
    return Fail(Code::kInvalidArgument,
                "fieldSelector is not supported for metrics; use labelSelector");
  }
  auto pod_selector = ParseSelectorParameter(target, "labelSelector");
  if (!pod_selector) return std::unexpected(pod_selector.error());
  query.pod_selector = *std::move(pod_selector);
  auto metric_selector = ParseSelectorParameter(target, "metricLabelSelector");
  if (!metric_selector) return std::unexpected(metric_selector.error());
  query.metric_selector = *std::move(metric_selector);
  auto window = ParseWindow(query.metric_selector);
  if (!window) return std::unexpected(window.error());
  query.window = *window;
  return query;
}

}  // namespace activescale::metricsapi
