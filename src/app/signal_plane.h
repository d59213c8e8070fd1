#pragma once

#include <functional>
#include <memory>

#include "app/config.h"
#include "app/thread.h"
#include "base/clock.h"
#include "base/error.h"
#include "kube/pod_index.h"
#include "net/io_loop.h"
#include "series/series_store.h"
#include "signal/catalogue_file.h"
#include "signal/envoy_feed.h"
#include "signal/evaluator.h"
#include "signal/reading.h"
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

  /// Errors: what of the files that it is configured with cannot be used.
  [[nodiscard]] base::Result<void> Load();
  void Start();
  /// Ends the thread. After it nothing of this is called any more.
  void Stop();
  /// Runs `work` on the thread "signals". Threads: any.
  void Post(std::move_only_function<void()> work) { loop_.Post(std::move(work)); }

  [[nodiscard]] series::SeriesStore& series() { return series_; }
  /// The store as ingest is to write it, so that flushes go into series, too.
  [[nodiscard]] store::SampleStore& ingest_store() { return feed_; }
  [[nodiscard]] const signal::Evaluator& evaluator() const { return evaluator_; }
  [[nodiscard]] const signal::SignalReader& reader() const { return reader_; }
  /// Never null. Threads: any.
  [[nodiscard]] std::shared_ptr<const signal::Catalogue> catalogue() const {
    return catalogue_file_.Get();
  }

 private:
  void RecordSignals();

  series::SeriesStore series_;
  signal::EnvoyFeed feed_;
  signal::Evaluator evaluator_;
  signal::SignalReader reader_;
  signal::CatalogueFile catalogue_file_;
  net::IoLoop loop_;
  net::IoLoop::Ticker maintenance_;
  net::IoLoop::Ticker feed_polls_;
  net::IoLoop::Ticker recording_;
  net::IoLoop::Ticker file_polls_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace activescale::app
