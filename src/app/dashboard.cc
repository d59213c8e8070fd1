#include "app/dashboard.h"

#include <fmt/format.h>

#include <utility>

#include "app/setting_values.h"
#include "app/settings.h"

namespace activescale::app {
namespace {

insight::ServerFacts FactsOf(const Config& config, const Cluster* cluster) {
  insight::ServerFacts facts{.version = ACTIVESCALE_VERSION, .pods_from = {}, .no_hpas = {}};
  if (cluster == nullptr) {
    facts.pods_from = "the Envoys that push (standalone)";
    facts.no_hpas = "there is no cluster to ask for HPAs";
  } else {
    facts.pods_from = "kube-apiserver";
    if (!config.watch_hpas) {
      facts.no_hpas = "HPAs and replicas are not watched: start Activescale with --watch-hpas";
    }
  }
  return facts;
}

/// Ours, then those of other replicas.
std::vector<insight::ReplicaStreams> StreamsOf(const std::string& replica, double open,
                                               const store::RedisStore* redis) {
  std::vector<insight::ReplicaStreams> streams = {{replica, open}};
  if (redis == nullptr) return streams;
  for (const auto& other : redis->OtherReplicas()) {
    streams.push_back({other.replica, static_cast<double>(other.streams)});
  }
  return streams;
}

insight::AheadOf AheadOf(const scaleahead::StateBoard* states) {
  if (states == nullptr) return nullptr;
  return [states](std::string_view ns, std::string_view hpa) {
    return scaleahead::StateName(states->Of(ns, hpa));
  };
}

insight::DashboardFeed::Parts FeedParts(const ProtectedPort::Parts& parts,
                                        const Dashboard::Sources& sources,
                                        const std::unique_ptr<ProtectedPort>& port) {
  const std::string replica =
      parts.config.pod_name.empty() ? "this process" : parts.config.pod_name;
  return {
      .facts = FactsOf(parts.config, sources.cluster),
      .ttl = parts.config.ttl,
      .pods = sources.pods,
      .store = sources.store,
      .checks = sources.checks,
      .streams = [&open = sources.ingest.open_streams, redis = sources.redis,
                  replica] { return StreamsOf(replica, open.Value(), redis); },
      .hpas = sources.cluster == nullptr ? nullptr : sources.cluster->hpas(),
      .scales = sources.cluster == nullptr ? nullptr : sources.cluster->scales(),
      .watched_pods = sources.cluster == nullptr ? nullptr : &sources.cluster->pods(),
      .ahead = AheadOf(sources.ahead),
      .clock = parts.clock,
      .registry = sources.registry,
      .post =
          [&port](std::move_only_function<void()> work) { port->loop().Post(std::move(work)); }};
}

/// Beyond loopback people come by addresses and by the name of our Service.
insight::HostRules HostsOf(const Config& config) {
  insight::HostRules rules{.any_address = !IsLoopback(config.dashboard_address.host), .names = {}};
  if (rules.any_address && !config.pod_namespace.empty()) {
    const std::string service = fmt::format("{}.{}.svc", config.service_name, config.pod_namespace);
    rules.names = {service, service + ".cluster.local"};
  }
  return rules;
}

}  // namespace

Dashboard::Dashboard(const ProtectedPort::Parts& parts, const Sources& sources)
    : feed_(FeedParts(parts, sources, port_)),
      handler_(HostsOf(parts.config), PageFiles(), feed_, sources.registry) {}

base::Result<std::unique_ptr<Dashboard>> Dashboard::Open(const ProtectedPort::Parts& parts,
                                                         const Sources& sources) {
  std::unique_ptr<Dashboard> dashboard(new Dashboard(parts, sources));
  auto port = ProtectedPort::Open({.name = "dashboard",
                                   .address = parts.config.dashboard_address,
                                   .token_file = {},
                                   .verb = "get",
                                   .permission = "/activescale/dashboard",
                                   .open_on_loopback = true,
                                   .refuse =
                                       [](const base::Error& error) {
                                         return insight::DashboardError(
                                             base::HttpStatus(error.code), error.message);
                                       },
                                   .render_error = insight::DashboardError},
                                  parts, dashboard->handler_);
  if (!port) return std::unexpected(std::move(port.error()));
  dashboard->port_ = *std::move(port);
  return dashboard;
}

void Dashboard::Start() {
  ticker_ = port_->loop().Every(insight::DashboardFeed::kInterval, [this] { feed_.Tick(); });
  port_->Start();
}

void Dashboard::Stop() {
  ticker_ = {};
  port_->Stop();
}

}  // namespace activescale::app
