#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "metric/labels.h"
#include "series/series_store.h"
#include "source/append_metrics.h"
#include "source/exposed_metadata.h"
#include "source/exposition.h"
#include "telemetry/registry.h"

namespace activescale::source {

/// What all targets count together.
struct ScrapeMetrics {
  explicit ScrapeMetrics(telemetry::Registry& registry);

  telemetry::Counter& scrapes;
  telemetry::Counter& unreachable;   // no answer, or a limit was hit
  telemetry::Counter& refused;       // an answer that is not 200
  telemetry::Counter& content_type;  // an answer that is no metrics
  telemetry::Counter& metadata_dropped;
  std::array<telemetry::Counter*, kExpositionFaults> malformed{};
  const AppendCounters samples;
};

/// What is to be done with labels and times that a target exposes.
struct ScrapeRules {
  bool honor_labels = false;     // a label of the text wins over the target's of the same name
  bool honor_timestamps = true;  // else all samples are of the scrape's time

  friend bool operator==(const ScrapeRules&, const ScrapeRules&) = default;
};

/// One target's series, scrape after scrape: those that somebody asks for go into the store, and
/// one that the target does not expose any more is marked as ended, as all are when a scrape fails
/// or the target goes. `up` says whether the last scrape went well. What the target tells of its
/// metrics is in the store's metadata while this lives.
/// Source: prometheus/prometheus:scrape/scrape.go.
/// Threads: one at a time.
class ScrapedTarget {
 public:
  /// `labels` are put on each series. `store` and `metrics` must outlive this.
  ScrapedTarget(metric::Labels labels, const ScrapeRules& rules, series::SeriesStore& store,
                ScrapeMetrics& metrics);

  /// What there is to tell of `up` and the like.
  [[nodiscard]] static std::vector<series::MetricMetadata> ReportMetadata();

  /// Takes what was exposed at `time_ms`. A text with a fault in it counts as a failed scrape:
  /// nothing of it is taken. Errors: kInvalidArgument: the fault.
  base::Result<void> Take(std::string_view text, ExpositionFormat format, int64_t time_ms,
                          std::chrono::nanoseconds took);
  /// The scrape of `time_ms` brought nothing.
  void Fail(int64_t time_ms, std::chrono::nanoseconds took);
  /// There will be no more scrapes.
  void End(int64_t time_ms);

 private:
  struct Known {
    metric::Labels labels;
    uint64_t scrape = 0;     // the last one that had it
    bool own_times = false;  // its end is for the target to tell
  };

  [[nodiscard]] metric::Labels MakeLabels(const ExposedSample& sample) const;
  void Append(const ExposedSample& sample, int64_t time_ms);
  void MarkMissing(int64_t time_ms);
  void TakeMetadata(std::string_view text, ExpositionFormat format, const MetadataDigest& told);
  void Report(bool up, int64_t time_ms, std::chrono::nanoseconds took, size_t samples);
  template <typename Use>
  void ForEachReport(Use use) const;

  const metric::Labels labels_;
  const ScrapeRules rules_;
  series::SeriesStore& store_;
  ScrapeMetrics& metrics_;
  uint64_t scrape_ = 0;
  uint64_t metadata_digest_ = 0;
  std::shared_ptr<const series::MetadataPage> metadata_;  // null: none, or there was no room
  std::unordered_map<std::string, Known> known_;  // by the text of the series; those in the store
};

}  // namespace activescale::source
