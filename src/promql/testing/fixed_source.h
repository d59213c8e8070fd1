#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "series/series_source.h"

namespace activescale::promql {

/// Series that a test writes; all of them were observed for ever unless it says otherwise.
class FixedSource final : public series::SeriesSource {
 public:
  /// Samples of a new series, or more of one that there is.
  void Add(metric::Labels labels, const std::vector<series::Sample>& samples) {
    auto found = std::ranges::find(all_, labels, [](const auto& s) { return s->labels(); });
    if (found == all_.end()) {
      found = all_.insert(found, std::make_shared<series::Series>(std::move(labels)));
    }
    for (const series::Sample& sample : samples) (void)(*found)->Append(sample);
  }
  /// From when on the source says that it has observed all.
  void set_observed_since(int64_t time_ms) { observed_since_ms_ = time_ms; }
  void set_error(base::Error error) { error_ = std::move(error); }

  [[nodiscard]] base::Result<series::Selection> Select(const series::Matchers& matchers, int64_t,
                                                       int64_t) override {
    if (!error_.message.empty()) return std::unexpected(error_);
    series::Selection selection{.series = {}, .observed_since_ms = observed_since_ms_};
    for (const auto& series : all_) {
      if (series::MatchesAll(matchers, series->labels())) selection.series.push_back(series);
    }
    return selection;
  }

 private:
  std::vector<std::shared_ptr<series::Series>> all_;
  int64_t observed_since_ms_ = series::kMinTime;
  base::Error error_;
};

}  // namespace activescale::promql
