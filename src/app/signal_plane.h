#pragma once

#include <memory>

#include "app/config.h"
#include "app/thread.h"
#include "base/clock.h"
#include "kube/pod_index.h"
#include "net/io_loop.h"
#include "series/series_store.h"
#include "signal/envoy_feed.h"
#include "signal/evaluator.h"
#include "store/sample_store.h"
#include "telemetry/registry.h"

namespace activescale::app {

/// The recent past of what somebody asks for, and the expressions over it: always there, and at
/// rest as long as nobody asks. Its loop is the thread "signals".
class SignalPlane {
 public:
  /// All of them must outlive it.
  SignalPlane(const Config& config, store::SampleStore& store, const kube::PodIndex& pods,
              const base::Clock& clock, telemetry::Registry& registry);

  void Start();
  /// Ends the thread. After it nothing of this is called any more.
  void Stop();

  [[nodiscard]] series::SeriesStore& series() { return series_; }
  /// The store as ingest is to write it, so that flushes go into series, too.
  [[nodiscard]] store::SampleStore& ingest_store() { return feed_; }
  [[nodiscard]] const signal::Evaluator& evaluator() const { return evaluator_; }

 private:
  series::SeriesStore series_;
  signal::EnvoyFeed feed_;
  signal::Evaluator evaluator_;
  net::IoLoop loop_;
  net::IoLoop::Ticker maintenance_;
  net::IoLoop::Ticker polls_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace activescale::app
