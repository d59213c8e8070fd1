#include "source/scraped_target.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "series/matcher.h"
#include "series/sample.h"

namespace activescale::source {
namespace {

struct ReportSeries {
  const char* name;
  const char* help;
};
/// In the order of Report's values.
constexpr ReportSeries kReports[] = {
    {"up", "1 if the last scrape of the target went well, else 0."},
    {"scrape_duration_seconds", "How long the last scrape took."},
    {"scrape_samples_scraped", "Samples that the target exposed."}};

constexpr const char* kScrapesHelp = "Scrapes, by result.";

telemetry::Counter& ScrapeCounter(telemetry::Registry& registry, const std::string& result) {
  return registry.AddCounter("activescale_scrapes_total", kScrapesHelp, {{"result", result}});
}

metric::Labels WithName(const metric::Labels& labels, std::string_view name) {
  std::vector<metric::Labels::Entry> entries = labels.entries();
  entries.emplace_back(series::kNameLabel, name);
  return metric::Labels(std::move(entries));
}

}  // namespace

ScrapeMetrics::ScrapeMetrics(telemetry::Registry& registry)
    : scrapes(ScrapeCounter(registry, "taken")),
      unreachable(ScrapeCounter(registry, "unreachable")),
      refused(ScrapeCounter(registry, "status")),
      content_type(ScrapeCounter(registry, "content_type")),
      metadata_dropped(registry.AddCounter(
          "activescale_scrape_metadata_dropped_total",
          "Scrapes of which types and help texts were not kept, because those kept are too long.")),
      samples(MakeAppendCounters(registry, "activescale_scrape_samples_total",
                                 "Scraped samples, by what became of them.")) {
  for (size_t i = 0; i < kExpositionFaults; ++i) {
    const std::string name(ExpositionFaultName(static_cast<ExpositionFault>(i)));
    malformed[i] = &ScrapeCounter(registry, "malformed_" + name);
  }
}

ScrapedTarget::ScrapedTarget(metric::Labels labels, const ScrapeRules& rules,
                             series::SeriesStore& store, ScrapeMetrics& metrics)
    : labels_(std::move(labels)), rules_(rules), store_(store), metrics_(metrics) {}

base::Result<void> ScrapedTarget::Take(std::string_view text, ExpositionFormat format,
                                       int64_t time_ms, std::chrono::nanoseconds took) {
  // Read twice instead of kept: nothing of a broken text is to be stored, and it may be long.
  ExposedSample sample;
  size_t samples = 0;
  MetadataDigest told(labels_.Get("namespace").value_or(""));
  ExpositionParser checked(text, format);
  checked.OnComment([&told](const ExposedComment& comment) { told.Add(comment); });
  while (true) {
    const auto more = checked.Next(sample);
    if (!more) {
      metrics_.malformed[static_cast<size_t>(more.error().fault)]->Increment();
      Fail(time_ms, took);
      return base::Fail(base::Code::kInvalidArgument, more.error().message);
    }
    if (!*more) break;
    ++samples;
  }
  ++scrape_;
  for (ExpositionParser parser(text, format); parser.Next(sample).value_or(false);) {
    Append(sample, time_ms);
  }
  MarkMissing(time_ms);
  TakeMetadata(text, format, told);
  metrics_.scrapes.Increment();
  Report(true, time_ms, took, samples);
  return {};
}

void ScrapedTarget::Fail(int64_t time_ms, std::chrono::nanoseconds took) {
  ++scrape_;
  MarkMissing(time_ms);
  Report(false, time_ms, took, 0);
}

void ScrapedTarget::End(int64_t time_ms) {
  ++scrape_;
  MarkMissing(time_ms);
  ForEachReport([&](const metric::Labels& labels) { store_.MarkStale(labels, time_ms); });
}

metric::Labels ScrapedTarget::MakeLabels(const ExposedSample& sample) const {
  std::vector<metric::Labels::Entry> entries;
  entries.reserve(1 + sample.labels.size() + labels_.entries().size());
  entries.emplace_back(series::kNameLabel, Unescape(sample.name));
  for (const auto& [name, value] : sample.labels) {
    if (!value.empty()) entries.emplace_back(Unescape(name), Unescape(value));
  }
  const size_t exposed = entries.size();
  for (const auto& target : labels_.entries()) {
    const auto same = std::find_if(
        entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(exposed),
        [&target](const metric::Labels::Entry& entry) { return entry.first == target.first; });
    if (same != entries.begin() + static_cast<std::ptrdiff_t>(exposed)) {
      if (rules_.honor_labels) continue;
      // As Prometheus renames it; a third label of that name is not worth the search.
      same->first = "exported_" + same->first;
    }
    entries.push_back(target);
  }
  return metric::Labels(std::move(entries));
}

void ScrapedTarget::Append(const ExposedSample& sample, int64_t time_ms) {
  const bool own_time = sample.time_ms && rules_.honor_timestamps;
  const series::Sample value{own_time ? *sample.time_ms : time_ms, sample.value};
  auto known = known_.find(std::string(sample.series));
  if (known == known_.end()) {
    metric::Labels labels = MakeLabels(sample);
    if (!store_.Wants(labels)) {
      metrics_.samples[static_cast<size_t>(series::AppendOutcome::kNotWanted)]->Increment();
      return;
    }
    known = known_.emplace(sample.series, Known{std::move(labels)}).first;
  }
  known->second.scrape = scrape_;
  known->second.own_times = own_time;
  const auto outcome = store_.Append(known->second.labels, value);
  metrics_.samples[static_cast<size_t>(outcome)]->Increment();
  if (outcome == series::AppendOutcome::kNotWanted) known_.erase(known);
}

void ScrapedTarget::MarkMissing(int64_t time_ms) {
  std::erase_if(known_, [&](const auto& entry) {
    const Known& known = entry.second;
    if (known.scrape == scrape_) return false;
    if (!known.own_times) store_.MarkStale(known.labels, time_ms);
    return true;
  });
}

void ScrapedTarget::TakeMetadata(std::string_view text, ExpositionFormat format,
                                 const MetadataDigest& told) {
  if (metadata_ && told.value() == metadata_digest_) return;
  metadata_digest_ = told.value();
  metadata_.reset();
  metadata_ = store_.metadata().Share(told.value(), told.bytes(), [&] {
    return ReadMetadata(text, format, labels_.Get("namespace").value_or(""));
  });
  if (!metadata_) metrics_.metadata_dropped.Increment();
}

std::vector<series::MetricMetadata> ScrapedTarget::ReportMetadata() {
  std::vector<series::MetricMetadata> all;
  for (const auto& [name, help] : kReports) all.push_back({name, "gauge", help, ""});
  return all;
}

template <typename Use>
void ScrapedTarget::ForEachReport(Use use) const {
  for (const auto& [name, help] : kReports) use(WithName(labels_, name));
}

void ScrapedTarget::Report(bool up, int64_t time_ms, std::chrono::nanoseconds took,
                           size_t samples) {
  const double values[] = {up ? 1.0 : 0.0, std::chrono::duration<double>(took).count(),
                           static_cast<double>(samples)};
  const double* value = values;
  ForEachReport(
      [&](const metric::Labels& labels) { (void)store_.Append(labels, {time_ms, *value++}); });
}

}  // namespace activescale::source
