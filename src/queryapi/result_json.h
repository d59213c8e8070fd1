#pragma once

#include <cstdint>
#include <string>

#include "metric/labels.h"
#include "promql/engine.h"

namespace activescale::queryapi {

/// Appends milliseconds as seconds: 1435781430.781.
/// Source: prometheus/prometheus:util/jsonutil/marshal.go.
void AppendTimestamp(int64_t time_ms, std::string& out);

/// Appends labels as an object.
void AppendLabels(const metric::Labels& labels, std::string& out);

/// Appends `{"resultType":...,"result":...}` as Prometheus's API has it. A result that was
/// evaluated at one moment has it in `time_ms`. Of a vector or matrix only the first `limit` series
/// are written; 0: all.
void AppendResult(const promql::QueryResult& result, int64_t time_ms, size_t limit,
                  std::string& out);

}  // namespace activescale::queryapi
