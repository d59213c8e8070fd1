#include "app/signal_plane.h"

namespace activescale::app {
namespace {

using std::chrono::seconds;

constexpr seconds kMaintenanceInterval{5};
constexpr seconds kFilePollInterval{2};
/// Well within the lease of a selector.
constexpr seconds kRecordingInterval{60};

/// An HPA or KEDA waits for a few seconds, and asks again.
promql::EngineOptions EngineOptions() {
  promql::EngineOptions options;
  options.timeout = seconds(2);
  return options;
}

}  // namespace

SignalPlane::SignalPlane(const Config& config, store::SampleStore& store,
                         const kube::PodIndex& pods, const base::Clock& clock,
                         telemetry::Registry& registry)
    : series_({}, clock),
      feed_({.cluster = config.cluster_id}, store, pods, series_, clock, registry),
      evaluator_(EngineOptions(), series_, &feed_, clock),
      reader_(evaluator_, registry),
      catalogue_file_(config.signals_file, EngineOptions().dialect, registry) {}

base::Result<void> SignalPlane::Load() { return catalogue_file_.Load(); }

void SignalPlane::Start() {
  maintenance_ = loop_.Every(kMaintenanceInterval, [this] { series_.Maintain(); });
  feed_polls_ = loop_.Every(signal::EnvoyFeed::kPollInterval, [this] { feed_.Poll(); });
  recording_ = loop_.Every(kRecordingInterval, [this] { RecordSignals(); });
  file_polls_ = loop_.Every(kFilePollInterval, [this] {
    if (catalogue_file_.Poll()) RecordSignals();
  });
  RecordSignals();
  thread_ = std::make_unique<Thread>("signals", [this] { loop_.Run(); });
}

/// What a signal selects is recorded although nobody has read the signal yet, so that its window is
/// whole when somebody does: to evaluate is to ask.
void SignalPlane::RecordSignals() {
  const auto catalogue = catalogue_file_.Get();
  for (const signal::Signal& signal : catalogue->signals()) {
    static_cast<void>(evaluator_.EvaluateNow(*signal.expr));
  }
}

void SignalPlane::Stop() {
  maintenance_ = {};
  feed_polls_ = {};
  recording_ = {};
  file_polls_ = {};
  loop_.Stop();
  thread_.reset();
}

}  // namespace activescale::app
