#include "app/server.h"

#include <fmt/format.h>

#include <array>
#include <random>
#include <thread>
#include <utility>

#include "app/settings.h"
#include "base/log.h"
#include "ingest/grpc_server.h"
#include "ingest/metrics_service.h"
#include "metricsapi/status.h"

namespace activescale::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Expiry gives memory back; what is too old is not served meanwhile. Each wake-up costs, of a
// process that has nothing else to do, too.
constexpr milliseconds kStoreExpiryInterval{200};
constexpr seconds kPodExpiryInterval{10};
constexpr seconds kCertificatePollInterval{2};
constexpr milliseconds kFlushPoll{10};

// How long a pod whose Envoy fell silent is still known, in TTLs: asked for it, we say that its
// telemetry is missing and not that there is no such pod.
constexpr int kPodGraceTtls = 3;

// A stream ends after its next message, which comes within a flush interval, 5 s by Envoy's
// default. With the default delay of 5 s the whole shutdown stays below the 30 s that Kubernetes
// gives.
constexpr milliseconds kStreamsDeadline{6'000};
/// Calls of KEDA take milliseconds, and its streams have no end of their own.
constexpr milliseconds kKedaDeadline{500};
constexpr milliseconds kRequestsDeadline{8'000};
/// Pages connect again by themselves.
constexpr milliseconds kDashboardDeadline{500};
constexpr milliseconds kFlushDeadline{2'000};
constexpr seconds kStageSlack{2};

std::string HostPort(std::string_view address, uint16_t port) {
  return address.find(':') == std::string_view::npos ? fmt::format("{}:{}", address, port)
                                                     : fmt::format("[{}]:{}", address, port);
}

store::EmbeddedStoreOptions StoreOptions(const Config& config) {
  return {.ttl = config.ttl, .max_pods = config.max_pods};
}

/// Null without an address. The settings were checked with the configuration.
std::unique_ptr<store::RedisStore> MakeRedisStore(const Config& config, net::IoLoop& loop,
                                                  const base::Clock& clock,
                                                  telemetry::Registry& registry) {
  if (config.redis.address.empty()) return nullptr;
  std::random_device random;
  const auto draw = [&random] { return (uint64_t{random()} << 32) | random(); };
  auto client =
      std::make_unique<redis::Client>(loop, clock, *redis::MakeConfig(config.redis), draw());
  return std::make_unique<store::RedisStore>(
      store::RedisStoreOptions{
          .ttl = config.ttl, .context = config.redis_context, .max_streams = config.max_pods},
      std::move(client), clock, registry, draw());
}

ingest::IngestOptions IngestOptions(const Config& config, const Cluster* cluster,
                                    ingest::StatTap stats) {
  return {
      .rules = metric::StatNameRules(config.inbound_stat_prefixes, config.outbound_stat_prefixes),
      .absent = config.absent_family,
      .ttl = config.ttl,
      .cluster_id = config.cluster_id,
      .peer_check = cluster != nullptr && config.checks_peers
                        ? [pods = &cluster->pods()](
                              metric::PodKeyView pod,
                              std::string_view peer) { return pods->CheckPeer(pod, peer); }
                        : kube::PeerCheck(),
      .refuse_wrong_peers = config.refuses_wrong_peers,
      .stats = std::move(stats)};
}

/// Names under which the aggregator and people on this machine reach us; empty: the machine's.
std::vector<std::string> CertificateNames(const Config& config) {
  if (config.pod_namespace.empty()) return {};
  const std::string service = fmt::format("{}.{}.svc", config.service_name, config.pod_namespace);
  return {service, service + ".cluster.local", "localhost", "127.0.0.1"};
}

telemetry::Counter& ReloadCounter(telemetry::Registry& registry, const std::string& result) {
  return registry.AddCounter("activescale_serving_certificate_reloads_total",
                             "Changed certificate files, by whether they could be used.",
                             {{"result", result}});
}

}  // namespace

Server::Server(const Config& config, const base::Clock& clock,
               std::optional<ClusterAccesses> accesses)
    : config_(config),
      clock_(clock),
      process_metrics_(registry_, ACTIVESCALE_VERSION),
      cluster_(accesses ? std::make_unique<Cluster>(*std::move(accesses), config, clock, registry_)
                        : nullptr),
      memory_(config.redis.address.empty()
                  ? std::make_unique<store::EmbeddedStore>(StoreOptions(config), clock, registry_)
                  : nullptr),
      redis_(MakeRedisStore(config, redis_loop_, clock, registry_)),
      last_replica_(config.pod_name),
      degraded_(registry_.AddGauge("activescale_store_degraded",
                                   "1 while this replica is ready although its store is away, so "
                                   "that the Service does not empty.")),
      store_(memory_ ? static_cast<store::SampleStore&>(*memory_) : *redis_),
      envoy_pods_(config.ttl * kPodGraceTtls, clock),
      pods_(cluster_ ? static_cast<const kube::PodIndex&>(cluster_->pods()) : envoy_pods_),
      signals_(config, store_, redis_ ? &redis_->log() : nullptr, pods_, clock, registry_),
      ahead_(Ahead::Make(config, cluster_.get(),
                         {.ingest = signals_.ingest_store(),
                          .store = store_,
                          .windows = signals_.windows(),
                          .external = config.external_metrics ? &external_metrics_ : nullptr,
                          .moments = signals_.moments(),
                          .scaler = signals_.scaler(),
                          .trigger_rules = signals_.trigger_rules(),
                          .post = [this](auto work) { signals_.Post(std::move(work)); }},
                         clock, registry_)),
      ingest_(IngestOptions(config, cluster_.get(), signals_.stat_tap()),
              ahead_ ? ahead_->ingest_store() : signals_.ingest_store(),
              cluster_ ? nullptr : &envoy_pods_, clock, registry_),
      custom_metrics_(pods_, ahead_ ? ahead_->served_store() : store_, signals_.windows(), clock,
                      registry_),
      external_metrics_([this] { return signals_.catalogue(); }, signals_.reader(),
                        signals_.moments(), [this](auto work) { signals_.Post(std::move(work)); },
                        clock),
      request_metrics_(registry_),
      health_(checks_, registry_),
      api_({.custom_metrics = custom_metrics_,
            .health = health_,
            .metrics = request_metrics_,
            .clock = clock,
            .access = cluster_ && !config.insecure_no_auth ? &cluster_->access() : nullptr,
            .version = "v" ACTIVESCALE_VERSION,
            .external_metrics = config.external_metrics ? &external_metrics_ : nullptr}),
      summary_(config.log_summary_interval, SummaryEntries(), clock.Now()),
      certificate_reloaded_(ReloadCounter(registry_, "reloaded")),
      certificate_failed_(ReloadCounter(registry_, "failed")),
      certificate_expiry_(registry_.AddGauge("activescale_serving_certificate_expiry_seconds",
                                             "When the serving certificate expires, as seconds "
                                             "since 1970.")) {}

Server::~Server() {
  grpc_server_.reset();
  StopThreads();
}

base::Result<std::unique_ptr<Server>> Server::Start(const Config& config,
                                                    const base::Clock& clock) {
  auto accesses = FindCluster(config);
  if (!accesses) return std::unexpected(std::move(accesses.error()));
  std::unique_ptr<Server> server(new Server(config, clock, *std::move(accesses)));
  server->AddChecks();
  if (auto loaded = server->signals_.Load(); !loaded) {
    return std::unexpected(std::move(loaded.error()));
  }
  for (const auto open : {&Server::OpenHealth, &Server::OpenHttps, &Server::OpenSignalHttp,
                          &Server::OpenDashboard, &Server::OpenGrpc}) {
    if (auto opened = (server.get()->*open)(); !opened) {
      return std::unexpected(std::move(opened.error()));
    }
  }
  server->StartThreads();
  if (server->cluster_ && server->cluster_->scales() != nullptr) {
    server->signals_.WatchScales(*server->cluster_->scales());
  }
  if (auto started = server->signals_.Start(); !started) {
    return std::unexpected(std::move(started.error()));
  }
  return server;
}

void Server::AddChecks() {
  checks_.Add("shutdown", [this] {
    const bool ending = shutting_down_.load(std::memory_order_relaxed);
    return telemetry::CheckResult{!ending, ending ? "the process is shutting down" : ""};
  });
  checks_.Add("store", [this] { return CheckStore(); });
  if (cluster_) cluster_->AddChecks(checks_);
}

telemetry::CheckResult Server::CheckStore() {
  if (memory_) return {true, fmt::format("embedded, {} pods", memory_->pod_count())};
  telemetry::CheckResult result = redis_->Check();
  const bool stays = !result.ok && StaysWithoutStore();
  if (result.ok) last_replica_.OnStoreReady();
  degraded_.Set(stays ? 1 : 0);
  if (!stays) return result;
  return {true, "degraded: discovery is served, reads are 503; " + result.reason};
}

// A fault that all replicas share must not empty the Service: then the APIService is unavailable
// and the deletion of every namespace in the cluster hangs.
bool Server::StaysWithoutStore() {
  switch (config_.store_outage) {
    case StoreOutage::kFail:
      return false;
    case StoreOutage::kServe:
      return true;
    case StoreOutage::kLast:
      break;
  }
  // With Redis there is a cluster: the settings are refused otherwise.
  return last_replica_.Stays(cluster_->ReadyReplicas(), clock_.Now());
}

void Server::FlushStore() {
  if (!redis_) return;
  const base::SteadyTime deadline = clock_.Now() + kFlushDeadline;
  while (redis_->pending_writes() > 0 && clock_.Now() < deadline) {
    std::this_thread::sleep_for(kFlushPoll);
  }
  if (const size_t left = redis_->pending_writes(); left > 0) {
    LOG_WARNING("shutdown: {} streams' newest values did not reach Redis", left);
  }
}

std::vector<SummaryLog::Entry> Server::SummaryEntries() {
  ingest::IngestMetrics& metrics = ingest_.metrics();
  const auto counter = [](telemetry::Counter& c) { return [&c] { return c.Value(); }; };
  return {{"messages", counter(metrics.messages)},
          {"stored_metrics", counter(metrics.stored_metrics)},
          {"dropped_by_ids", [&metrics] { return metrics.DroppedByIds(); }},
          {"dropped_by_names", counter(metrics.dropped_by_names)},
          {"synthesized_zeros", [this] { return custom_metrics_.synthesized_zeros(); }}};
}

base::Result<void> Server::OpenGrpc() {
  metrics_service_ = std::make_unique<ingest::MetricsService>(
      ingest::MetricsServiceOptions{.max_streams = config_.grpc_max_streams,
                                    .max_message_bytes = config_.grpc_max_recv_msg_size_bytes},
      ingest_);
  const std::string address = BindAddress(config_, config_.grpc_bind_address);
  auto opened =
      ingest::GrpcServer::Start({.bind_address = address,
                                 .port = config_.grpc_port,
                                 .tls = {.certificate = config_.grpc_tls_cert_file,
                                         .private_key = config_.grpc_tls_private_key_file,
                                         .client_ca = config_.grpc_tls_client_ca_file},
                                 .max_memory_bytes = config_.grpc_memory_limit_bytes,
                                 .max_connection_age = config_.grpc_max_connection_age,
                                 .connection_age_grace = config_.grpc_max_connection_age_grace},
                                *metrics_service_);
  if (!opened) return std::unexpected(std::move(opened.error()));
  grpc_server_ = std::move(*opened);
  LOG_INFO("gRPC listening on {}", HostPort(address, grpc_server_->port()));
  return {};
}

base::Result<void> Server::OpenHttps() {
  auto certificate =
      net::ServingCertificate::Load({.certificate_file = config_.tls_cert_file,
                                     .private_key_file = config_.tls_private_key_file,
                                     .directory = config_.cert_dir,
                                     .names = CertificateNames(config_)},
                                    clock_);
  if (!certificate) return std::unexpected(std::move(certificate.error()));
  certificate_ = std::move(*certificate);
  const std::string address = BindAddress(config_, config_.bind_address);
  auto opened = net::HttpServer::Listen(https_loop_,
                                        {.name = "https",
                                         .bind_address = address,
                                         .port = config_.secure_port,
                                         .tls = &certificate_->context(),
                                         .limits = {},
                                         .observe = ConnectionCounters("https"),
                                         .render_error = metricsapi::RenderHttpError},
                                        api_, clock_);
  if (!opened) return std::unexpected(std::move(opened.error()));
  https_server_ = std::move(*opened);
  LOG_INFO("HTTPS listening on {}", HostPort(address, https_server_->port()));
  return {};
}

base::Result<void> Server::OpenSignalHttp() {
  auto opened = SignalHttp::Open({.config = config_,
                                  .clock = clock_,
                                  .tls = certificate_->context(),
                                  .cluster_access = cluster_ ? &cluster_->access() : nullptr,
                                  .observe = ConnectionCounters("signals")},
                                 cluster_.get(), signals_, registry_);
  if (!opened) return std::unexpected(std::move(opened.error()));
  signal_http_ = *std::move(opened);
  return {};
}

base::Result<void> Server::OpenDashboard() {
  if (!config_.dashboard_address.given()) return {};
  auto opened = Dashboard::Open({.config = config_,
                                 .clock = clock_,
                                 .tls = certificate_->context(),
                                 .cluster_access = cluster_ ? &cluster_->access() : nullptr,
                                 .observe = ConnectionCounters("dashboard")},
                                {.pods = pods_,
                                 .store = store_,
                                 .checks = checks_,
                                 .ingest = ingest_.metrics(),
                                 .cluster = cluster_.get(),
                                 .redis = redis_.get(),
                                 .ahead = ahead_ ? &ahead_->states() : nullptr,
                                 .registry = registry_});
  if (!opened) return std::unexpected(std::move(opened.error()));
  dashboard_ = *std::move(opened);
  if (redis_ && !config_.pod_name.empty()) {
    redis_->ShareStreams(config_.pod_name, [&open = ingest_.metrics().open_streams] {
      return static_cast<uint64_t>(open.Value());
    });
  }
  return {};
}

base::Result<void> Server::OpenHealth() {
  const std::string address = BindAddress(config_, config_.health_bind_address);
  auto opened = net::HttpServer::Listen(health_loop_,
                                        {.name = "health",
                                         .bind_address = address,
                                         .port = config_.health_port,
                                         .tls = nullptr,
                                         .limits = {},
                                         .observe = ConnectionCounters("health"),
                                         .render_error = nullptr},
                                        health_, clock_);
  if (!opened) return std::unexpected(std::move(opened.error()));
  health_server_ = std::move(*opened);
  LOG_INFO("health listening on {}", HostPort(address, health_server_->port()));
  return {};
}

std::function<void(net::ConnectionEvent)> Server::ConnectionCounters(const std::string& server) {
  std::array<telemetry::Counter*, net::kConnectionEventCount> counters{};
  for (size_t i = 0; i < counters.size(); ++i) {
    const auto name = net::ConnectionEventName(static_cast<net::ConnectionEvent>(i));
    counters[i] = &registry_.AddCounter("activescale_http_connections_total",
                                        "What happened to connections of HTTP servers, by event.",
                                        {{"server", server}, {"event", std::string(name)}});
  }
  return
      [counters](net::ConnectionEvent event) { counters[static_cast<size_t>(event)]->Increment(); };
}

void Server::StartThreads() {
  StartHousekeeping();
  if (redis_) {
    redis_->Start();
    redis_thread_ = std::make_unique<Thread>("redis", [this] { redis_loop_.Run(); });
  }
  signal_http_->Start();
  if (dashboard_) dashboard_->Start();
  https_thread_ = std::make_unique<Thread>("https", [this] { https_loop_.Run(); });
  health_thread_ = std::make_unique<Thread>("health", [this] { health_loop_.Run(); });
  if (!cluster_) return;
  if (ahead_) ahead_->Start();
  // The certificate belongs to the housekeeping, which polls it.
  cluster_->Start([this](const net::TlsPair& pair) -> base::Result<void> {
    health_loop_.Post([this, pair] { InstallCertificate(pair); });
    return {};
  });
}

void Server::InstallCertificate(const net::TlsPair& pair) {
  if (auto installed = certificate_->Install(pair); !installed) {
    certificate_failed_.Increment();
    LOG_ERROR("the certificate that our CA signed cannot be used: {}", installed.error().message);
    return;
  }
  certificate_reloaded_.Increment();
}

void Server::StartHousekeeping() {
  housekeeping_.push_back(health_loop_.Repeat([this] { return ingest_.Tick(clock_.Now()); }));
  housekeeping_.push_back(health_loop_.Every(kStoreExpiryInterval, [this] {
    const base::SteadyTime now = clock_.Now();
    if (memory_) memory_->Expire(now);
    summary_.Tick(now);
  }));
  housekeeping_.push_back(
      health_loop_.Every(kPodExpiryInterval, [this] { envoy_pods_.Expire(clock_.Now()); }));
  housekeeping_.push_back(
      health_loop_.Every(kCertificatePollInterval, [this] { PollCertificate(); }));
}

void Server::PollCertificate() {
  switch (certificate_->Poll()) {
    case net::ServingCertificate::Reload::kUnchanged:
      break;
    case net::ServingCertificate::Reload::kReloaded:
      certificate_reloaded_.Increment();
      break;
    case net::ServingCertificate::Reload::kFailed:
      certificate_failed_.Increment();
      break;
  }
  const auto expiry = certificate_->not_after().time_since_epoch();
  certificate_expiry_.Set(std::chrono::duration<double>(expiry).count());
}

void Server::AddShutdownStages(base::ShutdownStages& stages) {
  const std::chrono::nanoseconds delay = config_.shutdown_delay;
  stages.Add("readyz is 503, waiting until Kubernetes sends nothing more", delay + kStageSlack,
             [this, delay] {
               shutting_down_.store(true, std::memory_order_relaxed);
               std::this_thread::sleep_for(delay);
             });
  stages.Add("ending gRPC streams", kStreamsDeadline + kStageSlack, [this] {
    metrics_service_->Drain();
    signals_.Drain(kKedaDeadline);
    grpc_server_->Shutdown(kStreamsDeadline - kKedaDeadline);
  });
  stages.Add("answering the requests in flight", kRequestsDeadline + kStageSlack, [this] {
    const base::SteadyTime deadline = clock_.Now() + kRequestsDeadline;
    const bool answered = https_server_->Drain(kRequestsDeadline);
    if (dashboard_) dashboard_->Drain(kDashboardDeadline);
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - clock_.Now());
    if (!signal_http_->Drain(std::max(left, milliseconds(0))) || !answered) {
      LOG_WARNING("shutdown: cut HTTPS requests that were not answered in {} ms",
                  kRequestsDeadline.count());
    }
  });
  stages.Add("writing what Redis has not got yet", kFlushDeadline + kStageSlack,
             [this] { FlushStore(); });
  stages.Add("joining threads", kStageSlack, [this] {
    grpc_server_.reset();
    StopThreads();
  });
}

void Server::StopThreads() {
  housekeeping_.clear();
  // First: the reviews that it ends answer requests on the loops below.
  if (cluster_) cluster_->Stop();
  if (ahead_) ahead_->Stop();
  if (signal_http_) signal_http_->Stop();
  if (dashboard_) dashboard_->Stop();
  signals_.Stop();
  if (redis_) redis_loop_.Stop();
  redis_thread_.reset();
  health_loop_.Stop();
  health_thread_.reset();
  https_loop_.Stop();
  https_thread_.reset();
}

}  // namespace activescale::app
