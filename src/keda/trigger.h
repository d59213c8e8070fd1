#pragma once

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "promql/ast.h"
#include "promql/dialect.h"

namespace activescale::keda {

/// A ScaledObject as KEDA's operator names it, with all metadata of one of its triggers.
struct ScaledObject {
  std::string ns;
  std::string name;
  std::map<std::string, std::string> metadata;

  friend auto operator<=>(const ScaledObject&, const ScaledObject&) = default;
};

struct TriggerRules {
  promql::Dialect dialect = promql::Dialect::kPrometheus3;
  /// Queries see the namespace of their ScaledObject alone.
  bool tenant_queries = false;
};

/// What a trigger asks for.
struct Trigger {
  std::string ns;                             // of the ScaledObject
  std::string signal;                         // empty: `query` instead
  std::shared_ptr<const promql::Expr> query;  // null: `signal` instead
  std::string query_ns;                       // that the query sees; empty: all
  std::string metric_name;                    // as KEDA passes it on
  std::optional<double> threshold;            // per replica; always there with `query`
  std::optional<double> activation;
  bool missing_is_zero = false;  // only by the user's word: ignoreNullValues
};

/// Reads a trigger from its metadata alone, whatever there is of data: `signal`, or `query` with
/// `threshold`; `activationThreshold`, `metricName`, `ignoreNullValues`, and `namespace` of a
/// query. Other keys are KEDA's own. Errors: kInvalidArgument, naming the key; kPermissionDenied:
/// another namespace, which the rules forbid.
[[nodiscard]] base::Result<Trigger> ParseTrigger(const ScaledObject& object,
                                                 const TriggerRules& rules);

}  // namespace activescale::keda
