#include "app/signal_http.h"

#include <fmt/format.h>

#include <utility>

#include "app/settings.h"
#include "base/file_text.h"
#include "base/log.h"
#include "metric/metric_kind.h"
#include "metricsapi/tenant.h"
#include "queryapi/reply.h"

namespace activescale::app {

namespace {

/// Of the series that this process makes.
std::vector<series::MetricMetadata> OwnMetadata(const Config& config) {
  std::vector<series::MetricMetadata> all;
  const auto add = [&all](std::vector<series::MetricMetadata> more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  for (size_t i = 0; i < metric::kMetricKindCount; ++i) {
    add({{std::string(metric::kMetricNames[i]), "gauge", std::string(metric::kMetricHelp[i]), ""}});
  }
  if (config.watch_hpas) add(signal::ScaleFeed::Metadata());
  if (!config.scrape_config.empty()) add(source::ScrapedTarget::ReportMetadata());
  return all;
}

using Targets = base::Result<std::vector<source::Discovered>>;

/// Pods of the cluster that can be asked.
Targets FindPods(const Cluster& cluster, const source::ClusterTargets& targets) {
  const auto pods = cluster.pods().Describe(targets.ns, targets.selector);
  if (!pods) return std::unexpected(pods.error());
  std::vector<source::Discovered> found;
  for (const kube::PodInfo& pod : *pods) {
    if (!pod.ip.empty()) found.push_back({pod.ip, targets.port_number, pod.name, ""});
  }
  return found;
}

Targets FindEndpoints(const Cluster& cluster, const source::ClusterTargets& targets) {
  auto endpoints = cluster.endpoints()->Find(targets.ns, targets.selector, targets.port);
  if (!endpoints) return std::unexpected(std::move(endpoints.error()));
  std::vector<source::Discovered> found;
  for (kube::ServiceEndpoint& at : *endpoints) {
    found.push_back({std::move(at.host), at.port, std::move(at.pod), std::move(at.service)});
  }
  return found;
}

source::Scraper::Discover DiscoverIn(const Cluster* cluster) {
  if (cluster == nullptr) return {};
  return [cluster](const source::ClusterTargets& targets) {
    return targets.kind == source::ClusterTargets::Kind::kPods ? FindPods(*cluster, targets)
                                                               : FindEndpoints(*cluster, targets);
  };
}

/// The jobs of a text. Errors besides: targets of a cluster where there is none.
base::Result<std::vector<source::ScrapeJob>> ReadJobs(const std::string& text, bool in_cluster) {
  auto jobs = source::ParseScrapeConfig(text);
  if (!jobs || in_cluster) return jobs;
  for (const source::ScrapeJob& job : *jobs) {
    if (job.cluster.empty()) continue;
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("the job {} has targets of a cluster, and there is none: give "
                                  "--kubeconfig, or leave kubernetes_pods and "
                                  "kubernetes_endpoints out",
                                  job.name));
  }
  return jobs;
}

}  // namespace

base::Result<void> CheckScrapeConfig(const Config& config) {
  const auto text = base::ReadFile(config.scrape_config);
  if (!text) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("{} cannot be read", config.scrape_config));
  }
  const auto jobs = ReadJobs(*text, ExpectsCluster(config));
  if (jobs) return {};
  return base::Fail(jobs.error().code,
                    fmt::format("{}: {}", config.scrape_config, jobs.error().message));
}

base::Result<std::unique_ptr<SignalHttp>> SignalHttp::Open(const ProtectedPort::Parts& parts,
                                                           const Cluster* cluster,
                                                           SignalPlane& signals,
                                                           telemetry::Registry& registry) {
  std::unique_ptr<SignalHttp> http(new SignalHttp);
  const Config& config = parts.config;
  base::Result<void> opened;
  if (config.query_address.given()) opened = http->OpenQuery(parts, signals, registry);
  if (opened && config.remote_write_address.given()) {
    opened = http->OpenRemoteWrite(parts, signals, registry);
  }
  if (opened && !config.scrape_config.empty()) {
    opened = http->PrepareScraper(parts, cluster, signals, registry);
  }
  if (!opened) return std::unexpected(std::move(opened.error()));
  return http;
}

base::Result<void> SignalHttp::OpenQuery(const ProtectedPort::Parts& parts, SignalPlane& signals,
                                         telemetry::Registry& registry) {
  query_api_ = std::make_unique<queryapi::QueryApi>(
      queryapi::QueryApi::Options{.path_prefix = parts.config.query_path_prefix,
                                  .dialect = parts.config.promql_dialect,
                                  .version = ACTIVESCALE_VERSION,
                                  .own_metadata = OwnMetadata(parts.config)},
      signals.evaluator(), signals.series(), parts.clock, registry);
  metricsapi::AccessGate::Next of_caller;
  if (parts.config.tenant_queries) {
    of_caller = [this](const kube::UserInfo& caller, const net::HttpRequest& request,
                       net::HttpResponder respond) {
      const auto ns = metricsapi::TenantNamespace(caller);
      respond(ns ? query_api_->Answer(request, *ns) : queryapi::Refuse(ns.error()));
    };
  }
  auto port = ProtectedPort::Open({.name = "query",
                                   .address = parts.config.query_address,
                                   .token_file = parts.config.query_bearer_token_file,
                                   .verb = "get",
                                   .permission = "/activescale/query",
                                   .of_caller = std::move(of_caller),
                                   .refuse = queryapi::Refuse,
                                   .render_error = queryapi::RenderHttpError},
                                  parts, *query_api_);
  if (!port) return std::unexpected(std::move(port.error()));
  query_port_ = *std::move(port);
  LOG_INFO(
      "query: a KEDA prometheus trigger that asks here needs ignoreNullValues: \"false\"; by "
      "KEDA's default it takes a missing value for 0");
  return {};
}

base::Result<void> SignalHttp::OpenRemoteWrite(const ProtectedPort::Parts& parts,
                                               SignalPlane& signals,
                                               telemetry::Registry& registry) {
  remote_write_ = std::make_unique<source::RemoteWrite>(signals.series(), registry);
  if (ReplicaExchange* const exchange = signals.exchange()) {
    remote_write_->SetListener(
        [exchange](std::string message) { exchange->TellWritten(std::move(message)); });
    exchange->SetWritten([this](std::string_view message) {
      // Faulty series were left out by the replica that was sent them.
      static_cast<void>(remote_write_->Take(message));
    });
  }
  auto port = ProtectedPort::Open({.name = "remote-write",
                                   .address = parts.config.remote_write_address,
                                   .token_file = parts.config.remote_write_bearer_token_file,
                                   .verb = "post",
                                   .permission = "/activescale/write",
                                   .max_body_bytes = source::RemoteWrite::kMaxBodyBytes,
                                   .refuse = queryapi::Refuse,
                                   .render_error = queryapi::RenderHttpError},
                                  parts, *remote_write_);
  if (!port) return std::unexpected(std::move(port.error()));
  remote_write_port_ = *std::move(port);
  return {};
}

base::Result<void> SignalHttp::PrepareScraper(const ProtectedPort::Parts& parts,
                                              const Cluster* cluster, SignalPlane& signals,
                                              telemetry::Registry& registry) {
  scrape_client_ = std::make_unique<net::HttpClient>();
  scraper_ = std::make_unique<source::Scraper>(*scrape_client_, signals.series(),
                                               DiscoverIn(cluster), parts.clock, registry);
  scrape_file_ = std::make_unique<telemetry::WatchedFile>(
      telemetry::WatchedFile::Options{.path = parts.config.scrape_config,
                                      .what = "scrape configuration",
                                      .reloads_metric = "activescale_scrape_config_reloads_total",
                                      .faulty_metric = "activescale_scrape_config_file_faulty"},
      [this, in_cluster = cluster != nullptr](const std::string& text) -> base::Result<void> {
        auto jobs = ReadJobs(text, in_cluster);
        if (!jobs) return std::unexpected(std::move(jobs.error()));
        scraper_->SetJobs(*std::move(jobs));
        return {};
      },
      registry);
  PollScrapeFile();
  return scrape_file_->Load();
}

void SignalHttp::PollScrapeFile() {
  scrape_client_->RunAfter(telemetry::WatchedFile::kPollInterval, [this] {
    scrape_file_->Poll();
    PollScrapeFile();
  });
}

void SignalHttp::Start() {
  for (const auto& port : {query_port_.get(), remote_write_port_.get()}) {
    if (port != nullptr) port->Start();
  }
  if (!scraper_) return;
  scrape_thread_ = std::make_unique<Thread>("scrape", [this] { scrape_client_->Run(); });
}

bool SignalHttp::Drain(std::chrono::milliseconds deadline) {
  bool in_time = true;
  for (const auto& port : {query_port_.get(), remote_write_port_.get()}) {
    if (port != nullptr && !port->Drain(deadline)) in_time = false;
  }
  return in_time;
}

void SignalHttp::Stop() {
  if (scrape_client_) scrape_client_->Stop();
  scrape_thread_.reset();
  for (const auto& port : {query_port_.get(), remote_write_port_.get()}) {
    if (port != nullptr) port->Stop();
  }
}

}  // namespace activescale::app
