#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "series/series_source.h"

namespace activescale::promql {

/// A fixed list of series.
class FixedSource final : public series::SeriesSource {
 public:
  void Add(metric::Labels labels, const std::vector<series::Sample>& samples) {
    auto added = std::make_shared<series::Series>(std::move(labels));
    for (const series::Sample& sample : samples) (void)added->Append(sample);
    all_.push_back(std::move(added));
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
  std::vector<std::shared_ptr<const series::Series>> all_;
  int64_t observed_since_ms_ = series::kMinTime;
  base::Error error_;
};

}  // namespace activescale::promql
