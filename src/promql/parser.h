#pragma once

#include <string_view>

#include "base/error.h"
#include "promql/ast.h"
#include "promql/dialect.h"

namespace activescale::promql {

/// Deeper queries are refused: reading, evaluating and freeing them all recurse.
inline constexpr uint32_t kMaxDepth = 200;

/// Reads one expression and checks its types.
/// Errors: kInvalidArgument, "LINE:COLUMN: parse error: ..."; what Prometheus has and we do not is
/// named. Time and memory are linear in the query's length.
/// Source: prometheus/prometheus:promql/parser/generated_parser.y, parse.go.
[[nodiscard]] base::Result<ExprPtr> Parse(std::string_view query,
                                          Dialect dialect = Dialect::kPrometheus3);

}  // namespace activescale::promql
