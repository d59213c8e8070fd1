#pragma once

#include <string>

#include "base/clock.h"
#include "net/http_types.h"
#include "queryapi/query_api.h"
#include "series/history.h"
#include "series/series_store.h"
#include "signal/evaluator.h"
#include "telemetry/registry.h"

namespace activescale::app {

/// The query API over the history that `serve --data-dir` keeps in a folder, without a server, for
/// commands. Whether the Envoys of then still push does not matter. Threads: one at a time.
class RecordedQueries {
 public:
  explicit RecordedQueries(const std::string& folder) : source_(folder) {}

  /// The answer to a request of Prometheus's API, at once; 503 if the folder has no history.
  [[nodiscard]] net::HttpResponse Answer(const net::HttpRequest& request) {
    return api_.Answer(request);
  }

 private:
  base::SystemClock clock_;
  series::HistorySource source_;
  telemetry::Registry registry_;
  series::SeriesStore nothing_{{}, clock_};  // the list of series is that of a server
  signal::Evaluator evaluator_{{}, source_, nullptr, clock_};
  queryapi::QueryApi api_{{}, evaluator_, nothing_, clock_, registry_};
};

}  // namespace activescale::app
