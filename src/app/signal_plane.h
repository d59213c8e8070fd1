#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "app/config.h"
#include "app/replica_exchange.h"
#include "app/thread.h"
#include "base/clock.h"
#include "base/error.h"
#include "ingest/stream_session.h"
#include "keda/activity_watch.h"
#include "keda/scaler.h"
#include "keda/trigger.h"
#include "kube/pod_index.h"
#include "kube/scale_watch.h"
#include "net/io_loop.h"
#include "series/history.h"
#include "series/series_source.h"
#include "series/series_store.h"
#include "signal/catalogue_file.h"
#include "signal/envoy_feed.h"
#include "signal/evaluator.h"
#include "signal/reading.h"
#include "signal/scale_feed.h"
#include "signal/standing_moments.h"
#include "signal/stat_feed.h"
#include "signal/window_reader.h"
#include "store/sample_store.h"
#include "store/shared_log.h"
#include "telemetry/registry.h"

namespace activescale::ingest {
class GrpcServer;
}  // namespace activescale::ingest
namespace activescale::keda {
class ExternalScalerService;
}  // namespace activescale::keda

namespace activescale::app {

/// The recent past of what somebody asks for, and the expressions over it: always there, and at
/// rest as long as nobody asks. Its loop is the thread "signals"; what waits for a disk is on the
/// thread "history".
class SignalPlane {
 public:
  /// All of them must outlive it. `log`: what replicas tell each other; null if there is one alone.
  SignalPlane(const Config& config, store::SampleStore& store, store::SharedLog* log,
              const kube::PodIndex& pods, const base::Clock& clock, telemetry::Registry& registry);
  ~SignalPlane();
  SignalPlane(const SignalPlane&) = delete;
  SignalPlane& operator=(const SignalPlane&) = delete;

  /// Errors: what of the files that it is configured with cannot be used.
  [[nodiscard]] base::Result<void> Load();
  /// Starts the thread and opens the ports. Errors: what could not be opened.
  [[nodiscard]] base::Result<void> Start();
  /// Ends the streams and calls of KEDA, which goes elsewhere.
  void Drain(std::chrono::nanoseconds grace);
  /// Ends the thread. After it nothing of this is called any more.
  void Stop();
  /// Runs `work` on the thread "signals". Threads: any.
  void Post(std::move_only_function<void()> work) { loop_.Post(std::move(work)); }

  /// Where samples go.
  [[nodiscard]] series::SeriesStore& series() { return series_; }
  /// Where questions go: the samples in memory, and before them those of the history.
  [[nodiscard]] series::SeriesSource& source() { return source_; }
  /// Makes series of the replicas that `scales` knows, which must outlive this. Call before Start.
  void WatchScales(const kube::ScaleWatch& scales);
  /// The store as ingest is to write it, so that flushes go into series, too.
  [[nodiscard]] store::SampleStore& ingest_store() { return feed_; }
  /// Where ingest is to bring stats that were chosen besides.
  [[nodiscard]] ingest::StatTap stat_tap();
  [[nodiscard]] const signal::Evaluator& evaluator() const { return evaluator_; }
  [[nodiscard]] const signal::SignalReader& reader() const { return reader_; }
  /// What answers to autoscalers stand still by. Threads: any.
  [[nodiscard]] signal::StandingMoments& moments() { return moments_; }
  [[nodiscard]] const signal::WindowReader& windows() const { return windows_; }
  /// What KEDA is answered with, and the rules by which its triggers are read. Threads: any, but
  /// evaluations belong on the thread "signals".
  [[nodiscard]] const keda::Scaler& scaler() const { return scaler_; }
  [[nodiscard]] keda::TriggerRules trigger_rules() const;
  /// Null if there is one replica alone.
  [[nodiscard]] ReplicaExchange* exchange() { return exchange_.get(); }
  /// Never null. Threads: any.
  [[nodiscard]] std::shared_ptr<const signal::Catalogue> catalogue() const {
    return catalogue_file_.Get();
  }

 private:
  void RecordSignals();
  void Exchange();
  base::Result<void> OpenKeda();
  void StartHistory();

  const Config config_;
  const base::Clock& clock_;
  telemetry::Registry& registry_;
  series::SeriesStore series_;
  std::unique_ptr<series::History> history_;  // null: series are in memory alone
  series::SeriesSource& source_;
  signal::EnvoyFeed feed_;
  std::unique_ptr<signal::StatFeed> stats_;    // null: none were chosen
  std::unique_ptr<signal::ScaleFeed> scales_;  // null: nobody watches them
  signal::Evaluator evaluator_;
  signal::SignalReader reader_;
  signal::StandingMoments moments_;
  signal::WindowReader windows_;
  signal::CatalogueFile catalogue_file_;
  keda::Scaler scaler_;
  keda::ActivityWatch activity_;
  std::unique_ptr<ReplicaExchange> exchange_;  // null: there is one replica alone
  bool poll_due_ = false;                      // another replica said that there is news
  net::IoLoop loop_;
  std::unique_ptr<keda::ExternalScalerService> keda_service_;  // null: not asked for
  std::unique_ptr<ingest::GrpcServer> keda_server_;
  net::IoLoop::Ticker activity_ticks_;
  net::IoLoop::Ticker exchange_ticks_;
  net::IoLoop::Ticker maintenance_;
  net::IoLoop::Ticker feed_polls_;
  net::IoLoop::Ticker recording_;
  net::IoLoop::Ticker file_polls_;
  std::unique_ptr<Thread> thread_;
  net::IoLoop history_loop_;
  net::IoLoop::Ticker saving_;
  std::unique_ptr<Thread> history_thread_;
};

}  // namespace activescale::app
