#include "keda/trigger.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "promql/literal.h"
#include "promql/parser.h"

namespace activescale::keda {
namespace {

using base::Code;
using base::Fail;
using base::Result;

std::string Find(const ScaledObject& object, const std::string& key) {
  const auto found = object.metadata.find(key);
  return found == object.metadata.end() ? std::string() : found->second;
}

Result<std::optional<double>> FindNumber(const ScaledObject& object, const std::string& key) {
  const std::string text = Find(object, key);
  if (text.empty()) return std::nullopt;
  const auto value = promql::ParseDecimal(text);
  if (!value || !std::isfinite(*value) || *value < 0) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{} \"{}\" is not a number of at least 0", key, text));
  }
  return value;
}

/// A name that passes KEDA, the path of the External Metrics API and back unchanged.
std::string PassingName(std::string_view name) {
  std::string passing(name);
  for (char& c : passing) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!kept) c = '-';
  }
  return passing;
}

Result<void> ReadQuery(const ScaledObject& object, const TriggerRules& rules, Trigger& trigger) {
  const std::string text = Find(object, "query");
  auto query = promql::Parse(text, rules.dialect);
  if (!query) return Fail(Code::kInvalidArgument, "query: " + query.error().message);
  if ((*query)->type != promql::ValueType::kVector &&
      (*query)->type != promql::ValueType::kScalar) {
    return Fail(Code::kInvalidArgument,
                fmt::format("query gives a {}; it must give a scalar or an instant vector",
                            promql::TypeName((*query)->type)));
  }
  trigger.query = *std::move(query);
  trigger.query_ns = Find(object, "namespace");
  if (!rules.tenant_queries) return {};
  if (!trigger.query_ns.empty() && trigger.query_ns != object.ns) {
    return Fail(Code::kPermissionDenied,
                fmt::format("namespace {}: a query sees the namespace of its ScaledObject alone, "
                            "{}, because of --tenant-queries",
                            trigger.query_ns, object.ns));
  }
  trigger.query_ns = object.ns;
  return {};
}

Result<void> ReadSource(const ScaledObject& object, const TriggerRules& rules, Trigger& trigger) {
  trigger.signal = Find(object, "signal");
  const bool has_query = !Find(object, "query").empty();
  if (trigger.signal.empty() == !has_query) {
    return Fail(Code::kInvalidArgument,
                "the trigger's metadata must have either signal, the name of a configured one, or "
                "query, an expression with a threshold");
  }
  if (has_query) return ReadQuery(object, rules, trigger);
  if (const std::string ns = Find(object, "namespace"); !ns.empty() && ns != object.ns) {
    return Fail(Code::kInvalidArgument,
                fmt::format("namespace {}: a signal is that of the ScaledObject's namespace, {}; "
                            "namespace goes with query",
                            ns, object.ns));
  }
  return {};
}

}  // namespace

Result<Trigger> ParseTrigger(const ScaledObject& object, const TriggerRules& rules) {
  Trigger trigger;
  trigger.ns = object.ns;
  if (auto read = ReadSource(object, rules, trigger); !read) {
    return std::unexpected(std::move(read.error()));
  }
  auto threshold = FindNumber(object, "threshold");
  if (!threshold) return std::unexpected(std::move(threshold.error()));
  if (*threshold == 0.0 || (trigger.query && !*threshold)) {
    return Fail(Code::kInvalidArgument,
                "threshold, the value for each replica, must be given with query and be above 0");
  }
  trigger.threshold = *threshold;
  auto activation = FindNumber(object, "activationThreshold");
  if (!activation) return std::unexpected(std::move(activation.error()));
  trigger.activation = *activation;
  const std::string ignore = Find(object, "ignoreNullValues");
  if (!ignore.empty() && ignore != "true" && ignore != "false") {
    return Fail(Code::kInvalidArgument,
                fmt::format("ignoreNullValues \"{}\" is not true or false", ignore));
  }
  trigger.missing_is_zero = ignore == "true";
  std::string name = Find(object, "metricName");
  if (name.empty()) name = trigger.query ? "query" : trigger.signal;
  trigger.metric_name = PassingName(name);
  return trigger;
}

}  // namespace activescale::keda
