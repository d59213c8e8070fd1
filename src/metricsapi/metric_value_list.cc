#include "metricsapi/metric_value_list.h"

#include <fmt/format.h>

#include <chrono>
#include <iterator>

#include "base/json_text.h"

namespace activescale::metricsapi {

namespace {

std::string_view OperatorName(metric::Requirement::Op op) {
  switch (op) {
    case metric::Requirement::Op::kIn:
      return "In";
    case metric::Requirement::Op::kNotIn:
      return "NotIn";
    case metric::Requirement::Op::kExists:
      return "Exists";
    case metric::Requirement::Op::kDoesNotExist:
      break;
  }
  return "DoesNotExist";
}

/// A metav1.LabelSelector with one expression for each requirement.
std::string WriteLabelSelector(const metric::Selector& selector) {
  std::string out = R"({"matchExpressions":[)";
  for (const metric::Requirement& requirement : selector.requirements()) {
    if (out.back() == '}') out += ',';
    out += R"({"key":)";
    base::AppendJsonString(requirement.key, out);
    fmt::format_to(std::back_inserter(out), R"(,"operator":"{}")", OperatorName(requirement.op));
    if (!requirement.values.empty()) {
      out += R"(,"values":[)";
      for (const std::string& value : requirement.values) {
        if (out.back() != '[') out += ',';
        base::AppendJsonString(value, out);
      }
      out += ']';
    }
    out += '}';
  }
  return out + "]}";
}

/// The text between an item's object and its timestamp, equal for all items.
std::string WriteIdentity(CustomMetricsVersion version, std::string_view metric_name,
                          const metric::Selector& selector) {
  std::string out;
  if (version == CustomMetricsVersion::kV1Beta2) {
    out = R"(},"metric":{"name":)";
    base::AppendJsonString(metric_name, out);
    if (!selector.empty()) out += R"(,"selector":)" + WriteLabelSelector(selector);
    out += '}';
  } else {
    out = R"(},"metricName":)";
    base::AppendJsonString(metric_name, out);
  }
  return out + R"(,"timestamp":")";
}

/// The text that ends an item.
std::string WriteEnd(CustomMetricsVersion version, const metric::Selector& selector) {
  if (version == CustomMetricsVersion::kV1Beta2) return "\"}";
  return R"(","selector":)" + (selector.empty() ? "null" : WriteLabelSelector(selector)) + "}";
}

void AppendObject(const DescribedObject& object, std::string& out) {
  out += R"({"describedObject":{"kind":)";
  base::AppendJsonString(object.kind, out);
  out += R"(,"namespace":)";
  base::AppendJsonString(object.ns, out);
  out += R"(,"name":)";
  base::AppendJsonString(object.name, out);
  out += R"(,"apiVersion":)";
  base::AppendJsonString(object.api_version, out);
}

/// Remembers its last answer: the values of one list are mostly of one or two seconds.
class TimestampText {
 public:
  const std::string& Of(base::WallTime time) {
    const auto second = std::chrono::floor<std::chrono::seconds>(time);
    if (second != second_) {
      second_ = second;
      text_ = FormatRfc3339(time);
    }
    return text_;
  }

 private:
  std::chrono::sys_seconds second_ = std::chrono::sys_seconds::min();
  std::string text_;
};

}  // namespace

std::string FormatRfc3339(base::WallTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(second);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(second - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string WriteMetricValueList(CustomMetricsVersion version, std::string_view metric_name,
                                 const metric::Selector& selector,
                                 const std::vector<MetricValue>& values,
                                 std::chrono::seconds window) {
  const bool v1beta2 = version == CustomMetricsVersion::kV1Beta2;
  const std::string identity = WriteIdentity(version, metric_name, selector);
  const std::string before_value =
      fmt::format(R"(","{}":{},"value":")", v1beta2 ? "windowSeconds" : "window", window.count());
  const std::string end = WriteEnd(version, selector);
  TimestampText timestamp;
  std::string out;
  out.reserve(128 + values.size() * (200 + identity.size() + end.size()));
  out += R"({"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/)";
  out += v1beta2 ? "v1beta2" : "v1beta1";
  out += R"(","metadata":{},"items":[)";
  for (const MetricValue& value : values) {
    if (out.back() == '}') out += ',';
    AppendObject(value.object, out);
    out += identity;
    out += timestamp.Of(value.time);
    out += before_value;
    out += value.value.ToString();
    out += end;
  }
  out += "]}\n";
  return out;
}

}  // namespace activescale::metricsapi
