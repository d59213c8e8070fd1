#include "source/scraper.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/file_text.h"
#include "base/log.h"
#include "base/unix_time.h"

namespace activescale::source {
namespace {

using std::chrono::milliseconds;

// As Prometheus 2.42 asks, without its own protobuf format.
constexpr const char* kAccept =
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

/// FNV-1a: the same for the same text in every process.
uint64_t Hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// Nothing for an answer that is no metrics. One without a type is taken as the older format.
std::optional<ExpositionFormat> FormatOf(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  if (type == "application/openmetrics-text") return ExpositionFormat::kOpenMetrics;
  if (type.empty() || type == "text/plain") return ExpositionFormat::kPrometheusText;
  return std::nullopt;
}

metric::Labels With(const metric::Labels& labels,
                    std::initializer_list<metric::Labels::Entry> more) {
  std::vector<metric::Labels::Entry> entries(more);
  // Those of the configuration last: they win.
  entries.insert(entries.end(), labels.entries().begin(), labels.entries().end());
  return metric::Labels(std::move(entries));
}

}  // namespace

struct Scraper::Target {
  Target(std::shared_ptr<const ScrapeJob> of_job, std::string of_url, metric::Labels of_labels,
         bool of_cluster, series::SeriesStore& store, ScrapeMetrics& metrics)
      : job(std::move(of_job)),
        url(std::move(of_url)),
        labels(std::move(of_labels)),
        discovered(of_cluster),
        offset_ms(static_cast<int64_t>(Hash(url) % static_cast<uint64_t>(job->interval.count()))),
        series(labels, job->rules, store, metrics) {}

  /// The last moment of this target at `time_ms` or before.
  [[nodiscard]] int64_t Before(int64_t time_ms) const {
    const int64_t interval_ms = job->interval.count();
    return (time_ms - offset_ms) / interval_ms * interval_ms + offset_ms;
  }

  const std::shared_ptr<const ScrapeJob> job;
  const std::string url;
  const metric::Labels labels;
  const bool discovered;
  const int64_t offset_ms;
  ScrapedTarget series;
  net::TimerId timer = 0;
  bool gone = false;
  bool in_flight = false;
  std::optional<bool> up;
};

Scraper::Scraper(net::HttpClient& http, series::SeriesStore& store, Discover discover,
                 const base::Clock& clock, telemetry::Registry& registry)
    : http_(http),
      store_(store),
      discover_(std::move(discover)),
      clock_(clock),
      metrics_(registry),
      targets_up_(registry.AddGauge("activescale_scrape_targets",
                                    "Targets, by whether the last scrape went well.",
                                    {{"state", "up"}})),
      targets_down_(registry.AddGauge("activescale_scrape_targets",
                                      "Targets, by whether the last scrape went well.",
                                      {{"state", "down"}})) {}

Scraper::~Scraper() = default;

void Scraper::SetJobs(std::vector<ScrapeJob> jobs) {
  jobs_.clear();
  for (ScrapeJob& job : jobs) jobs_.push_back(std::make_shared<const ScrapeJob>(std::move(job)));
  http_.CancelTimer(refresh_);
  Refresh();
}

/// Begins with targets that are new and ends with those that are gone.
void Scraper::Refresh() {
  Targets wanted;
  for (const JobPtr& job : jobs_) {
    AddStatic(job, wanted);
    AddDiscovered(job, wanted);
  }
  const int64_t now_ms = base::UnixMsNow(clock_);
  for (const auto& [key, target] : targets_) {
    const auto next = wanted.find(key);
    const bool replaced = next != wanted.end();
    if (replaced && next->second == target) continue;
    target->gone = true;
    http_.CancelTimer(target->timer);
    // Where one would have come; of one that is replaced at once, before those that come instead.
    target->series.End(target->Before(now_ms) + (replaced ? 1 : target->job->interval.count()));
  }
  for (const auto& [key, target] : wanted) {
    const auto known = targets_.find(key);
    if (known == targets_.end() || known->second != target) Schedule(target);
  }
  targets_ = std::move(wanted);
  const auto up = std::ranges::count_if(
      targets_, [](const auto& entry) { return entry.second->up.value_or(false); });
  targets_up_.Set(static_cast<double>(up));
  targets_down_.Set(static_cast<double>(targets_.size()) - static_cast<double>(up));
  refresh_ = http_.RunAfter(kRefresh, [this] { Refresh(); });
}

void Scraper::AddStatic(const JobPtr& job, Targets& wanted) {
  for (const StaticTargets& group : job->targets) {
    for (const std::string& address : group.addresses) {
      Want(job, address, With(group.labels, {{"job", job->name}, {"instance", address}}), false,
           wanted);
    }
  }
}

void Scraper::AddDiscovered(const JobPtr& job, Targets& wanted) {
  for (const ClusterTargets& targets : job->cluster) {
    const auto found = discover_(targets);
    TellDiscovery(*job, found ? base::Result<void>() : std::unexpected(found.error()));
    if (!found) {
      // While they are not known, those that were are scraped on.
      for (const auto& [key, target] : targets_) {
        if (target->discovered && target->job->ScrapesAs(*job)) wanted.emplace(key, target);
      }
      continue;
    }
    for (const Discovered& at : *found) {
      const std::string host = at.host.contains(':') ? "[" + at.host + "]" : at.host;
      const std::string address = fmt::format("{}:{}", host, at.port);
      std::vector<metric::Labels::Entry> labels = {
          {"job", job->name}, {"instance", address}, {"namespace", targets.ns}};
      if (!at.pod.empty()) labels.emplace_back("pod", at.pod);
      if (!at.service.empty()) labels.emplace_back("service", at.service);
      Want(job, address, metric::Labels(std::move(labels)), true, wanted);
    }
  }
}

/// What is only away for now is told by who asks the cluster for it.
void Scraper::TellDiscovery(const ScrapeJob& job, const base::Result<void>& found) {
  const bool wrong = !found && found.error().code != base::Code::kUnavailable;
  std::string& told = told_[job.name];
  if (wrong && told != found.error().message) {
    told = found.error().message;
    LOG_WARNING("scrape: targets of the job {} are not known: {}", job.name, told);
  }
  if (found) told.clear();
}

void Scraper::Want(const JobPtr& job, const std::string& address, metric::Labels labels,
                   bool discovered, Targets& wanted) {
  const std::string key = job->name + "\n" + address;
  const auto known = targets_.find(key);
  if (known != targets_.end() && known->second->labels == labels &&
      known->second->discovered == discovered && known->second->job->ScrapesAs(*job)) {
    wanted.emplace(key, known->second);
    return;
  }
  const std::string url = fmt::format("{}://{}{}", job->scheme, address, job->path);
  wanted.try_emplace(
      key, std::make_shared<Target>(job, url, std::move(labels), discovered, store_, metrics_));
}

void Scraper::Schedule(const std::shared_ptr<Target>& target) {
  const int64_t now_ms = base::UnixMsNow(clock_);
  const milliseconds wait(target->Before(now_ms) + target->job->interval.count() - now_ms);
  target->timer = http_.RunAfter(wait, [this, target] { Scrape(target); });
}

void Scraper::Scrape(const std::shared_ptr<Target>& target) {
  Schedule(target);
  if (target->in_flight) return;
  const ScrapeJob& job = *target->job;
  net::ClientRequest request{
      .url = target->url,
      .headers = {{"Accept", kAccept},
                  {"User-Agent", "activescale"},
                  {"X-Prometheus-Scrape-Timeout-Seconds",
                   fmt::format("{:g}", static_cast<double>(job.timeout.count()) / 1000)}},
      .tls = job.tls,
      .connect_timeout = job.timeout,
      .timeout = job.timeout,
      .max_body_bytes = job.max_body_bytes,
      .accept_gzip = true};
  const int64_t time_ms = target->Before(base::UnixMsNow(clock_));
  const base::SteadyTime begin = clock_.Now();
  if (!job.bearer_token_file.empty()) {
    const auto token = base::ReadTokenFile(job.bearer_token_file);
    if (!token) {
      return Finish(*target, time_ms, begin,
                    base::Fail(base::Code::kUnavailable,
                               fmt::format("the token file {} cannot be read or is empty",
                                           job.bearer_token_file)));
    }
    request.headers.emplace_back("Authorization", "Bearer " + *token);
  }
  target->in_flight = true;
  http_.Submit(std::move(request),
               [this, target, time_ms, begin](base::Result<net::ClientResponse> response) {
                 target->in_flight = false;
                 // At our own end nothing is known of the target.
                 if (!target->gone && !http_.stopped())
                   Finish(*target, time_ms, begin, std::move(response));
               });
}

void Scraper::Finish(Target& target, int64_t time_ms, base::SteadyTime begin,
                     base::Result<net::ClientResponse> response) {
  const auto judged = Judge(target, time_ms, clock_.Now() - begin, response);
  const bool was_up = std::exchange(target.up, judged.has_value()).value_or(true);
  if (!judged && was_up) LOG_WARNING("scrape: {}", judged.error().message);
  if (judged && !was_up) LOG_INFO("scrape: {} is up again", target.url);
}

base::Result<void> Scraper::Judge(Target& target, int64_t time_ms, std::chrono::nanoseconds took,
                                  const base::Result<net::ClientResponse>& response) {
  if (!response) {
    metrics_.unreachable.Increment();
    target.series.Fail(time_ms, took);
    return std::unexpected(response.error());
  }
  if (response->status != 200) {
    metrics_.refused.Increment();
    target.series.Fail(time_ms, took);
    return base::Fail(base::Code::kUnavailable,
                      fmt::format("{} answers {}", target.url, response->status));
  }
  const std::string_view type = response->FindHeader("content-type");
  const auto format = FormatOf(type);
  if (!format) {
    metrics_.content_type.Increment();
    target.series.Fail(time_ms, took);
    return base::Fail(
        base::Code::kInvalidArgument,
        fmt::format("{} answers {}, which is no metrics", target.url, type.substr(0, 100)));
  }
  auto taken = target.series.Take(response->body, *format, time_ms, took);
  if (taken) return taken;
  return base::Fail(taken.error().code, fmt::format("{}: {}", target.url, taken.error().message));
}

}  // namespace activescale::source
