#include "app/signal_plane.h"

#include <cstdint>
#include <random>
#include <string_view>
#include <utility>

#include "app/kept_selectors.h"
#include "base/log.h"
#include "ingest/grpc_server.h"
#include "keda/external_scaler_service.h"
#include "telemetry/watched_file.h"

namespace activescale::app {
namespace {

using std::chrono::seconds;

constexpr seconds kMaintenanceInterval{5};
/// A fifth of what KEDA may wait for a wake-up after the flush that made it.
constexpr std::chrono::milliseconds kActivityInterval{20};
constexpr size_t kMaxActivityStreams = 4096;
constexpr int kMaxKedaMessageBytes = 1 << 20;
constexpr size_t kMaxKedaMemoryBytes = size_t{64} << 20;
/// Well within the lease of a selector.
constexpr seconds kRecordingInterval{60};

/// An HPA or KEDA waits for a few seconds, and asks again. All evaluations share a thread, so none
/// may take more than some tenths of a second of it.
promql::EngineOptions EngineOptions(const Config& config) {
  promql::EngineOptions options;
  options.dialect = config.promql_dialect;
  options.max_samples = 10'000'000;
  options.timeout = seconds(2);
  return options;
}

/// The patterns were checked with the configuration.
std::unique_ptr<signal::StatFeed> MakeStatFeed(const Config& config, const kube::PodIndex& pods,
                                               series::SeriesStore& series,
                                               const base::Clock& clock,
                                               telemetry::Registry& registry) {
  if (config.envoy_stats.empty()) return nullptr;
  return std::make_unique<signal::StatFeed>(
      signal::StatFeed::Options{.cluster = config.cluster_id, .ttl = config.ttl},
      *metric::StatChooser::Make(config.envoy_stats), pods, series, clock, registry);
}

/// Null without a folder. The selectors were checked with the configuration.
std::unique_ptr<series::History> MakeHistory(const Config& config, series::SeriesStore& series,
                                             const base::Clock& clock) {
  if (config.data_dir.empty()) return nullptr;
  return std::make_unique<series::History>(
      series::HistoryOptions{
          .folder = config.data_dir,
          .keep = *ParseSelectors(config.keep),
          .retention = std::chrono::duration_cast<std::chrono::milliseconds>(config.retention)},
      series, clock);
}

}  // namespace

SignalPlane::SignalPlane(const Config& config, store::SampleStore& store, store::SharedLog* log,
                         const kube::PodIndex& pods, const base::Clock& clock,
                         telemetry::Registry& registry)
    : config_(config),
      clock_(clock),
      registry_(registry),
      series_({.max_bytes = config.series_memory_bytes}, clock),
      history_(MakeHistory(config, series_, clock)),
      source_(history_ ? static_cast<series::SeriesSource&>(*history_) : series_),
      feed_({.cluster = config.cluster_id}, store, pods, series_, clock, registry),
      stats_(MakeStatFeed(config, pods, series_, clock, registry)),
      evaluator_(EngineOptions(config), source_, &feed_, clock),
      reader_(evaluator_, registry),
      moments_(clock),
      windows_(series_, clock),
      catalogue_file_(config.signals_file, config.promql_dialect, registry),
      scaler_([this] { return catalogue(); }, reader_),
      activity_(scaler_, clock, kMaxActivityStreams) {
  feed_.SetListener([this] { activity_.Wake(); });
  if (log == nullptr) return;
  std::random_device random;
  exchange_ = std::make_unique<ReplicaExchange>(
      ReplicaExchange::Parts{.series = series_,
                             .stats = stats_.get(),
                             .activity = activity_,
                             .rules = trigger_rules(),
                             .clock = clock,
                             .seed = (uint64_t{random()} << 32) | random()},
      *log, registry);
  log->Read([this](std::string_view entry, base::SteadyTime written) {
    exchange_->Take(entry, written);
  });
  if (stats_ == nullptr) return;
  stats_->SetListener(
      [this](const signal::StatFeed::Message& message) { exchange_->TellStats(message); });
}

// Where the types are known of which the header knows the names alone.
SignalPlane::~SignalPlane() = default;

keda::TriggerRules SignalPlane::trigger_rules() const {
  return {.dialect = config_.promql_dialect, .tenant_queries = config_.tenant_queries};
}

base::Result<void> SignalPlane::Load() {
  if (history_) {
    history_->Restore();
  } else {
    const auto kept = ParseSelectors(config_.keep);
    for (const series::Matchers& matchers : *kept) {
      series_.Keep(matchers, series::HistoryOptions().in_memory);
    }
  }
  return catalogue_file_.Load();
}

void SignalPlane::WatchScales(const kube::ScaleWatch& scales) {
  scales_ = std::make_unique<signal::ScaleFeed>(
      signal::ScaleFeed::Source{.hpas = scales.hpas(),
                                .deployments = scales.deployments(),
                                .fresh = [&scales] { return scales.Fresh(); }},
      series_, clock_, registry_);
}

ingest::StatTap SignalPlane::stat_tap() {
  if (stats_ == nullptr) return {};
  return {.chooser = &stats_->chooser(),
          .active = [this] { return stats_->Active(); },
          .take =
              [this](const metric::PodKey& pod, std::span<const metric::ChosenStat> stats,
                     base::SteadyTime received, bool begins_flush) {
                stats_->Take(pod, stats, received, begins_flush);
                activity_.Wake();
              }};
}

base::Result<void> SignalPlane::Start() {
  maintenance_ = loop_.Every(kMaintenanceInterval, [this] { series_.Maintain(); });
  feed_polls_ = loop_.Every(signal::EnvoyFeed::kPollInterval, [this] {
    feed_.Poll();
    if (stats_) stats_->Expire();
    if (scales_) scales_->Tick();
  });
  recording_ = loop_.Every(kRecordingInterval, [this] { RecordSignals(); });
  file_polls_ = loop_.Every(telemetry::WatchedFile::kPollInterval, [this] {
    if (catalogue_file_.Poll()) RecordSignals();
  });
  if (exchange_) exchange_ticks_ = loop_.Every(ReplicaExchange::kInterval, [this] { Exchange(); });
  RecordSignals();
  thread_ = std::make_unique<Thread>("signals", [this] { loop_.Run(); });
  if (history_) StartHistory();
  return config_.keda_address.given() ? OpenKeda() : base::Result<void>();
}

void SignalPlane::Exchange() {
  exchange_->Tick();
  if (exchange_->TakeWakeUp()) poll_due_ = true;
  if (poll_due_ && feed_.Poll()) poll_due_ = false;
}

/// After the thread was started: calls wait for it.
base::Result<void> SignalPlane::OpenKeda() {
  keda_service_ = std::make_unique<keda::ExternalScalerService>(
      scaler_, moments_, activity_, trigger_rules(), [this](auto work) { Post(std::move(work)); },
      registry_);
  auto opened = ingest::GrpcServer::Start({.bind_address = config_.keda_address.host,
                                           .port = config_.keda_address.port,
                                           .tls = {.certificate = config_.keda_tls_cert_file,
                                                   .private_key = config_.keda_tls_private_key_file,
                                                   .client_ca = config_.keda_tls_client_ca_file},
                                           .max_message_bytes = kMaxKedaMessageBytes,
                                           .max_memory_bytes = kMaxKedaMemoryBytes},
                                          *keda_service_);
  if (!opened) return std::unexpected(std::move(opened.error()));
  keda_server_ = std::move(*opened);
  activity_ticks_ = loop_.Every(kActivityInterval, [this] { activity_.Tick(); });
  LOG_INFO("external scaler for KEDA listening on {}, port {}", config_.keda_address.host,
           keda_server_->port());
  return {};
}

void SignalPlane::Drain(std::chrono::nanoseconds grace) {
  if (keda_server_) keda_server_->Shutdown(grace);
}

void SignalPlane::StartHistory() {
  telemetry::Gauge& works = registry_.AddGauge(
      "activescale_history_works", "1 if the history is written to data-dir, 0 if that fails.");
  telemetry::Gauge& failures =
      registry_.AddGauge("activescale_history_failures",
                         "How often the history could not be written since the start.");
  telemetry::Gauge& samples = registry_.AddGauge("activescale_history_written_samples",
                                                 "Samples written to the history since the start.");
  registry_.AddRefresh([this, &works, &failures, &samples] {
    const series::HistoryStats stats = history_->stats();
    works.Set(stats.problem.empty() ? 1 : 0);
    failures.Set(static_cast<double>(stats.failures));
    samples.Set(static_cast<double>(stats.samples_written));
  });
  saving_ = history_loop_.Every(series::History::kSaveInterval, [this] { history_->Save(); });
  history_thread_ = std::make_unique<Thread>("history", [this] {
    history_loop_.Run();
    history_->Save();
  });
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
  keda_server_.reset();  // first: its calls wait for the loop
  activity_ticks_ = {};
  exchange_ticks_ = {};
  maintenance_ = {};
  feed_polls_ = {};
  recording_ = {};
  file_polls_ = {};
  loop_.Stop();
  thread_.reset();
  saving_ = {};
  history_loop_.Stop();
  history_thread_.reset();
}

}  // namespace activescale::app
