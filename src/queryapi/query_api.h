#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "net/http_types.h"
#include "promql/dialect.h"
#include "queryapi/form.h"
#include "queryapi/reply.h"
#include "series/metadata_book.h"
#include "series/series_store.h"
#include "signal/evaluator.h"
#include "telemetry/registry.h"

namespace activescale::queryapi {

/// Prometheus's HTTP API for queries: query, query_range, series, labels, label/<name>/values,
/// metadata and status/buildinfo, with its JSON, error types and statuses. It answers under
/// /api/v1, /prometheus/api/v1 and a prefix of choice.
/// One thing differs. Where data is away, or a window was not recorded whole, Prometheus answers
/// with what it has, which a scaler takes for no load; this answers 503. A range of times gets what
/// there is, with a warning, as does a query with partial_window=serve.
/// Source: prometheus/prometheus:web/api/v1/api.go.
/// Threads: one at a time. Evaluation happens in Handle, so the server needs a loop of its own.
class QueryApi final : public net::HttpHandler {
 public:
  struct Options {
    std::string path_prefix;  // such as "/mimir"; may be empty
    promql::Dialect dialect = promql::Dialect::kPrometheus3;
    std::string version;  // of this program
    /// Of series that are made here; those that come from elsewhere are told of in the store.
    std::vector<series::MetricMetadata> own_metadata;
  };

  /// All of them must outlive this; `series` is what the evaluator reads.
  QueryApi(Options options, const signal::Evaluator& evaluator, const series::SeriesStore& series,
           const base::Clock& clock, telemetry::Registry& registry);

  void Handle(net::HttpRequest request, net::HttpResponder respond) override;

  /// The answer to a request, at once. If `ns` is not empty, there are only series whose label
  /// `namespace` has that value, whatever the request says.
  [[nodiscard]] net::HttpResponse Answer(const net::HttpRequest& request, std::string_view ns = "");

 private:
  struct Endpoint;
  struct Question;
  static constexpr size_t kEndpoints = 7;
  static const std::array<Endpoint, kEndpoints> kTable;
  using FoundSeries = std::vector<std::shared_ptr<const series::Series>>;

  [[nodiscard]] std::string_view StripPrefix(std::string_view path) const;

  Outcome Query(const Question& question);
  Outcome QueryRange(const Question& question);
  Outcome ListSeries(const Question& question);
  Outcome ListLabels(const Question& question);
  Outcome ListValues(const Question& question);
  Outcome Metadata(const Question& question);
  Outcome BuildInfo(const Question& question);

  /// Series of the match[] parameters, or all, with samples between start and end.
  [[nodiscard]] base::Result<FoundSeries> Find(const Question& question) const;

  const Options options_;
  const signal::Evaluator& evaluator_;
  const series::SeriesStore& series_;
  const base::Clock& clock_;
  /// By endpoint, then by type of error; the last of each counts successes.
  std::array<std::array<telemetry::Counter*, kErrorTypes + 1>, kEndpoints> requests_{};
};

}  // namespace activescale::queryapi
