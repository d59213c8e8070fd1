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

struct PodAddress {
  std::string name;
  std::string ip;
};

/// Asks each target of its jobs for its metrics, each interval. A target's moments are whole
/// multiples of the interval plus an offset made from its address, and samples bear them, so that
/// targets are spread over the interval and all replicas of ours record the same times.
/// Threads: that of the HTTP client's loop, but for the constructor and Start.
class Scraper {
 public:
  /// How often it is asked which pods there are.
  static constexpr std::chrono::milliseconds kRefresh{1'000};

  /// The pods of a namespace that match. Errors: kUnavailable: not known now; those that were known
  /// are scraped on.
  using FindPods = std::function<base::Result<std::vector<PodAddress>>(std::string_view ns,
                                                                       const metric::Selector&)>;

  /// All of them must outlive the client's Run. `find_pods` may be empty if no job names pods.
  Scraper(std::vector<ScrapeJob> jobs, net::HttpClient& http, series::SeriesStore& store,
          FindPods find_pods, const base::Clock& clock, telemetry::Registry& registry);
  ~Scraper();
  Scraper(const Scraper&) = delete;
  Scraper& operator=(const Scraper&) = delete;

  /// To be called before the client's Run.
  void Start() { Refresh(); }

 private:
  struct Target;
  using Targets = std::map<std::string, std::shared_ptr<Target>>;

  void Refresh();
  void AddStatic(const ScrapeJob& job, Targets& wanted);
  void AddPods(const ScrapeJob& job, Targets& wanted);
  void Want(const ScrapeJob& job, const std::string& address, metric::Labels labels,
            Targets& wanted);
  void Schedule(const std::shared_ptr<Target>& target);
  void Scrape(const std::shared_ptr<Target>& target);
  void Finish(Target& target, int64_t time_ms, base::SteadyTime begin,
              base::Result<net::ClientResponse> response);
  [[nodiscard]] base::Result<void> Judge(Target& target, int64_t time_ms,
                                         std::chrono::nanoseconds took,
                                         const base::Result<net::ClientResponse>& response);

  const std::vector<ScrapeJob> jobs_;
  net::HttpClient& http_;
  series::SeriesStore& store_;
  const FindPods find_pods_;
  const base::Clock& clock_;
  ScrapeMetrics metrics_;
  telemetry::Gauge& targets_up_;
  telemetry::Gauge& targets_down_;
  Targets targets_;  // by job and address
};

}  // namespace activescale::source
