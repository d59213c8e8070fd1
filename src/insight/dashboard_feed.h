#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "insight/fleet.h"
#include "insight/hpa_table.h"
#include "insight/load_history.h"
#include "insight/overview.h"
#include "kube/pod_index.h"
#include "kube/scale_watch.h"
#include "kube/watch_pod_index.h"
#include "net/http_stream.h"
#include "store/sample_store.h"
#include "telemetry/health.h"
#include "telemetry/registry.h"

namespace activescale::insight {

/// The live data of the dashboard: reads the store, keeps the last 15 minutes, and sends what
/// changed to every open page. All pages share one reading and one document a second; while none is
/// open, the store is read once a step of the history.
/// Threads: one at a time, but for what `post` takes. Destroy it when the store's thread has ended.
class DashboardFeed {
 public:
  static constexpr std::chrono::milliseconds kInterval{1'000};
  /// A page that leaves more unread is dropped; it connects again by itself.
  static constexpr size_t kMaxUnsentBytes = size_t{8} << 20;

  struct Parts {
    ServerFacts facts;
    std::chrono::nanoseconds ttl;
    const kube::PodIndex& pods;
    store::SampleStore& store;
    const telemetry::HealthChecks& checks;
    std::function<std::vector<ReplicaStreams>()> streams;
    /// These three null where no API server is asked for it.
    const HpaTable* hpas = nullptr;
    const kube::ScaleWatch* scales = nullptr;
    const kube::WatchPodIndex* watched_pods = nullptr;
    AheadOf ahead;
    const base::Clock& clock;
    telemetry::Registry& registry;
    /// Runs work on the feed's thread. Threads: any.
    std::function<void(std::move_only_function<void()>)> post;
  };

  explicit DashboardFeed(Parts parts);

  /// To be called each kInterval.
  void Tick();

  /// Server-sent events: `overview` once, then a `change` a second.
  [[nodiscard]] std::shared_ptr<net::HttpStream> WatchOverview();
  /// Server-sent events: a `workload` a second, also of one that is not known.
  [[nodiscard]] std::shared_ptr<net::HttpStream> WatchWorkload(const std::string& ns,
                                                               const std::string& name);
  /// See LoadHistory::Json.
  [[nodiscard]] std::string History(const std::vector<LoadHistory::Name>& names,
                                    std::optional<size_t> metric) const {
    return history_.Json(names, metric);
  }

 private:
  using Streams = std::vector<std::shared_ptr<net::HttpStream>>;
  using WorkloadName = std::pair<std::string, std::string>;
  /// One reading of the store.
  struct Trip {
    std::vector<kube::IndexedPod> pods;
    std::vector<store::ReadAllResult::Readings> readings;  // in the order of `pods`
    std::string problem;
  };

  [[nodiscard]] bool Watched() const;
  void Read();
  void OnRead(Trip& trip, base::Result<store::ReadAllResult> result);
  void Finish(Trip& trip);
  void Publish();
  void PublishOverview();
  void PublishWorkloads();
  [[nodiscard]] std::string WorkloadText(const WorkloadName& name, const HpaTable::Hpas& hpas,
                                         const Deployments& deployments) const;
  [[nodiscard]] HpaTable::Hpas Hpas() const;
  [[nodiscard]] Deployments ReadDeployments() const;
  /// Sends to those that are open and forgets the others.
  static void SendTo(Streams& streams, const net::HttpStream::Piece& piece);
  void CountPages();

  const Parts parts_;
  telemetry::Gauge& pages_;

  LoadHistory history_;
  Fleet fleet_;
  std::string problem_;
  std::shared_ptr<Trip> trip_;  // under way
  std::optional<base::SteadyTime> read_at_;

  std::optional<Overview> overview_;  // that all of `live_` have; nothing while nobody looks
  net::HttpStream::Piece whole_;      // the same as a piece, once somebody needed it
  Streams fresh_;                     // have nothing yet
  Streams live_;
  std::map<WorkloadName, Streams> workloads_;
};

}  // namespace activescale::insight
