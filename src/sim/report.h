#pragma once

#include <string>
#include <vector>

#include "sim/model.h"
#include "sim/summary.h"

namespace activescale::sim {

/// One run with its name, for a report that shows several side by side.
struct ReportedRun {
  Scenario scenario;
  Run run;
  Summary summary;
};

/// The summaries as rows of cells: first the runs' names, then a row a figure with its label first.
[[nodiscard]] std::vector<std::vector<std::string>> SummaryRows(
    const std::vector<ReportedRun>& runs);

/// SummaryRows as aligned text.
[[nodiscard]] std::string TextTable(const std::vector<ReportedRun>& runs);

/// {"runs": [{"name", "summary": {...}}]}; times in seconds.
[[nodiscard]] std::string Json(const std::vector<ReportedRun>& runs);

/// The timeline of one run, a line a step, with a header.
[[nodiscard]] std::string TimelineCsv(const ReportedRun& run);

/// Load, in-flight, replicas and queue over time, in `width` columns of characters.
[[nodiscard]] std::string TerminalPlot(const ReportedRun& run, int width = 100);

/// A page of its own, without scripts or anything from elsewhere: the table and a plot each of
/// load, in-flight, replicas (desired, ready), queue and latency. Light and dark. Names are
/// escaped.
[[nodiscard]] std::string HtmlReport(const std::vector<ReportedRun>& runs);

}  // namespace activescale::sim
