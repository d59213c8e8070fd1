#include "app/signal_plane.h"

namespace activescale::app {
namespace {

constexpr std::chrono::seconds kMaintenanceInterval{5};

/// An HPA or KEDA waits for a few seconds, and asks again.
promql::EngineOptions EngineOptions() {
  promql::EngineOptions options;
  options.timeout = std::chrono::seconds(2);
  return options;
}

}  // namespace

SignalPlane::SignalPlane(const Config& config, store::SampleStore& store,
                         const kube::PodIndex& pods, const base::Clock& clock,
                         telemetry::Registry& registry)
    : series_({}, clock),
      feed_({.cluster = config.cluster_id}, store, pods, series_, clock, registry),
      evaluator_(EngineOptions(), series_, &feed_, clock) {}

void SignalPlane::Start() {
  maintenance_ = loop_.Every(kMaintenanceInterval, [this] { series_.Maintain(); });
  polls_ = loop_.Every(signal::EnvoyFeed::kPollInterval, [this] { feed_.Poll(); });
  thread_ = std::make_unique<Thread>("signals", [this] { loop_.Run(); });
}

void SignalPlane::Stop() {
  maintenance_ = {};
  polls_ = {};
  loop_.Stop();
  thread_.reset();
}

}  // namespace activescale::app
