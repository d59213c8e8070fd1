#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/cluster.h"
#include "app/config.h"
#include "app/keda_readers.h"
#include "app/thread.h"
#include "base/clock.h"
#include "base/error.h"
#include "keda/scaler.h"
#include "keda/trigger.h"
#include "kube/scaled_object_watch.h"
#include "metricsapi/custom_metrics.h"
#include "metricsapi/external_metrics.h"
#include "net/io_loop.h"
#include "scaleahead/kube_hands.h"
#include "scaleahead/object_watch.h"
#include "scaleahead/push_tap.h"
#include "scaleahead/runner.h"
#include "scaleahead/standing_store.h"
#include "signal/standing_moments.h"
#include "signal/window_reader.h"
#include "store/sample_store.h"
#include "telemetry/registry.h"

namespace activescale::app {

/// Steps ahead of the HPA controller, wired: the thread "ahead", the watches, and the questions
/// that kube-apiserver would ask us, asked without it.
class Ahead {
 public:
  /// What values come from and go to; all of it must outlive this.
  struct Parts {
    store::SampleStore& ingest;  // where pushes are to be written
    store::SampleStore& store;   // where values are read
    const signal::WindowReader& windows;
    const metricsapi::ExternalMetrics* external;  // null: we do not serve external metrics
    signal::StandingMoments& moments;             // of answers about External metrics
    /// What KEDA is answered with, by which rules, and where evaluations are run.
    const keda::Scaler& scaler;
    keda::TriggerRules trigger_rules;
    std::function<void(std::move_only_function<void()>)> post;
  };

  /// Null if the configuration says off. All of them must outlive it; its calls end when `cluster`
  /// stops, and it is to be destroyed after that.
  [[nodiscard]] static std::unique_ptr<Ahead> Make(const Config& config, Cluster* cluster,
                                                   const Parts& parts, const base::Clock& clock,
                                                   telemetry::Registry& registry);

  /// The store as ingest is to write it, so that pushes are seen.
  [[nodiscard]] store::SampleStore& ingest_store() { return tap_; }
  /// The store as the Custom Metrics API is to read it: it stands still where pods join.
  [[nodiscard]] store::SampleStore& served_store() { return standing_; }

  /// What HPAs get, for people to look at. Threads: any.
  [[nodiscard]] const scaleahead::StateBoard& states() const { return runner_.states(); }

  /// Call before the cluster starts.
  void Start();
  /// Ends the thread.
  void Stop();

 private:
  Ahead(const Config& config, Cluster& cluster, const Parts& parts, const base::Clock& clock,
        telemetry::Registry& registry);

  [[nodiscard]] scaleahead::Seams MakeSeams();
  [[nodiscard]] scaleahead::ObjectWatch::Listener MakeListener();
  [[nodiscard]] base::Result<scaleahead::MetricReader> ReaderOf(const kube::HpaObject& hpa,
                                                                size_t metric,
                                                                const std::string& pods);
  [[nodiscard]] base::Result<scaleahead::MetricReader> ExternalReaderOf(const kube::HpaObject& hpa,
                                                                        size_t metric);
  [[nodiscard]] base::Result<std::vector<scaleahead::TargetPod>> PodsOf(
      std::string_view ns, const metric::Selector& selector) const;
  void OnStepped(const kube::HpaObject& hpa, const metric::Selector& selector);
  void OnBroken(const kube::HpaObject& hpa);
  [[nodiscard]] bool ActsFor(std::string_view key);

  const Config config_;
  const base::Clock& clock_;
  Cluster& cluster_;
  const metricsapi::ExternalMetrics* external_;
  signal::StandingMoments& moments_;
  telemetry::Registry not_served_;  // what is counted of values that are not served
  metricsapi::CustomMetrics custom_;
  net::IoLoop loop_;
  scaleahead::PushTap tap_;
  scaleahead::StandingStore standing_;
  scaleahead::KubeHands hands_;
  scaleahead::Runner runner_;
  scaleahead::ObjectWatch watch_;
  kube::ScaledObjectWatch scaled_objects_;
  KedaReaders keda_;
  // Who acts, as of the last look at the EndpointSlices; of the thread.
  std::vector<std::string> replicas_;
  base::SteadyTime replicas_at_ = base::SteadyTime::min();
  net::IoLoop::Ticker ticks_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace activescale::app
