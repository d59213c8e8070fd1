#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "metric/selector.h"
#include "net/http_client.h"
#include "series/series_store.h"
#include "source/scrape_config.h"
#include "source/scraped_target.h"
#include "telemetry/registry.h"

namespace activescale::source {

/// What a cluster says of a target.
struct Discovered {
  std::string host;
  uint16_t port = 0;
  std::string pod;  // both may be empty
  std::string service;
};

/// Asks each target of its jobs for its metrics, each interval. A target's moments are whole
/// multiples of the interval plus an offset made from its address, and samples bear them, so that
/// targets are spread over the interval and all replicas of ours record the same times.
/// Threads: that of the HTTP client's loop, or any before its Run.
class Scraper {
 public:
  /// How often it is asked which pods there are.
  static constexpr std::chrono::milliseconds kRefresh{1'000};

  /// What a job names of a cluster. Errors: not known now; what was known is scraped on.
  using Discover =
      std::function<base::Result<std::vector<Discovered>>(const ClusterTargets& targets)>;

  /// All of them must outlive the client's Run. `discover` may be empty if no job names anything
  /// of a cluster.
  Scraper(net::HttpClient& http, series::SeriesStore& store, Discover discover,
          const base::Clock& clock, telemetry::Registry& registry);
  ~Scraper();
  Scraper(const Scraper&) = delete;
  Scraper& operator=(const Scraper&) = delete;

  /// Begins with these jobs, or goes on with them instead of those before: a target that they
  /// scrape in the same way keeps its moments and its series.
  void SetJobs(std::vector<ScrapeJob> jobs);

 private:
  struct Target;
  using JobPtr = std::shared_ptr<const ScrapeJob>;
  using Targets = std::map<std::string, std::shared_ptr<Target>>;

  void Refresh();
  void AddStatic(const JobPtr& job, Targets& wanted);
  void AddDiscovered(const JobPtr& job, Targets& wanted);
  void TellDiscovery(const ScrapeJob& job, const base::Result<void>& found);
  void Want(const JobPtr& job, const std::string& address, metric::Labels labels, bool discovered,
            Targets& wanted);
  void Schedule(const std::shared_ptr<Target>& target);
  void Scrape(const std::shared_ptr<Target>& target);
  void Finish(Target& target, int64_t time_ms, base::SteadyTime begin,
              base::Result<net::ClientResponse> response);
  [[nodiscard]] base::Result<void> Judge(Target& target, int64_t time_ms,
                                         std::chrono::nanoseconds took,
                                         const base::Result<net::ClientResponse>& response);

  std::vector<JobPtr> jobs_;
  net::HttpClient& http_;
  series::SeriesStore& store_;
  const Discover discover_;
  const base::Clock& clock_;
  ScrapeMetrics metrics_;
  telemetry::Gauge& targets_up_;
  telemetry::Gauge& targets_down_;
  net::TimerId refresh_ = 0;
  Targets targets_;                          // by job and address
  std::map<std::string, std::string> told_;  // by job: why its targets are not known
};

}  // namespace activescale::source
