#include "app/cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>
#include <utility>

#include "app/settings.h"
#include "base/log.h"

namespace activescale::app {
namespace {

constexpr std::string_view kExternalApiService = "v1beta1.external.metrics.k8s.io";

// The APIServices that an installation owns.
std::vector<std::string> OurApiServices(const Config& config) {
  std::vector<std::string> names = {"v1beta2.custom.metrics.k8s.io",
                                    "v1beta1.custom.metrics.k8s.io"};
  if (config.external_metrics) names.emplace_back(kExternalApiService);
  return names;
}

base::Result<kube::ClusterAccess> AccessBy(const std::string& kubeconfig, const Config& config) {
  const std::string& file = kubeconfig.empty() ? config.kubeconfig : kubeconfig;
  if (!file.empty()) return kube::LoadKubeconfig(file);
  return kube::InClusterAccess(config.kubernetes_service_host, config.kubernetes_service_port,
                               std::string(kube::kServiceAccountDir));
}

/// One source of numbers in [0, 1) for everything on the API client's loop.
std::function<double()> RandomSource() {
  const auto engine = std::make_shared<std::mt19937_64>(std::random_device{}());
  return [engine] { return std::uniform_real_distribution<double>(0, 1)(*engine); };
}

}  // namespace

base::Result<std::optional<ClusterAccesses>> FindCluster(const Config& config) {
  if (!ExpectsCluster(config)) return std::nullopt;
  auto pods = AccessBy(config.lister_kubeconfig, config);
  if (!pods) {
    return base::Fail(pods.error().code,
                      fmt::format("{}; give --kubeconfig, or --pod-source=envoy to take the pods "
                                  "from the Envoys that push",
                                  pods.error().message));
  }
  auto authentication =
      AccessBy(config.authentication_kubeconfig.empty() ? config.lister_kubeconfig
                                                        : config.authentication_kubeconfig,
               config);
  if (!authentication) return std::unexpected(std::move(authentication.error()));
  auto authorization =
      AccessBy(config.authorization_kubeconfig.empty() ? config.lister_kubeconfig
                                                       : config.authorization_kubeconfig,
               config);
  if (!authorization) return std::unexpected(std::move(authorization.error()));
  return ClusterAccesses{*std::move(pods), *std::move(authentication), *std::move(authorization)};
}

Cluster::Cluster(ClusterAccesses accesses, const Config& config, const base::Clock& clock,
                 telemetry::Registry& registry)
    : config_(config),
      clock_(clock),
      registry_(registry),
      random_(RandomSource()),
      api_(http_, std::move(accesses.pods), clock),
      authentication_api_(http_, std::move(accesses.authentication), clock),
      authorization_api_(http_, std::move(accesses.authorization), clock),
      pods_(WatchContext(), {.namespaces = config.namespaces,
                             .include_terminating = config.include_terminating_pods,
                             .starting_grace = config.ttl}),
      auth_config_({.api = authentication_api_,
                    .registry = registry,
                    .clock = clock,
                    .random = random_,
                    .watcher = {}}),
      tokens_(authentication_api_, registry, clock, random_),
      reviews_(authorization_api_, registry, clock, random_),
      authenticator_([this] { return auth_config_.Get(); }, tokens_, clock, registry,
                     {.tolerate_lookup_failure = config.authentication_tolerate_lookup_failure}),
      authorizer_(reviews_, clock, registry, {}),
      access_(authenticator_, authorizer_, clock),
      other_replicas_(registry.AddGauge("activescale_other_ready_replicas_without_shared_store",
                                        "Ready replicas besides this one, none of which knows the "
                                        "pods of the others. Anything above 0 is a fault.")) {
  if (config.watch_hpas) {
    if (config.dashboard_address.given()) hpas_ = std::make_unique<insight::HpaTable>();
    scales_ = std::make_unique<kube::ScaleWatch>(WatchContext(), config.namespaces, hpas_.get());
  }
  if (!config.scrape_config.empty()) {
    endpoints_ = std::make_unique<kube::EndpointWatch>(WatchContext(), config.namespaces);
  }
  if (!config.pod_namespace.empty()) {
    replicas_ = std::make_unique<kube::ReplicaWatch>(
        kube::ReplicaWatch::Context{
            .api = api_, .registry = registry, .clock = clock, .random = random_, .watcher = {}},
        config.pod_namespace, config.service_name);
  }
}

kube::WatchGroup::Context Cluster::WatchContext() {
  return {.api = api_, .registry = registry_, .clock = clock_, .random = random_, .watcher = {}};
}

void Cluster::Start(std::function<base::Result<void>(const net::TlsPair&)> install) {
  LOG_INFO("pods from kube-apiserver at {} ({})", api_.access().server, api_.access().origin);
  pods_.Start();
  if (scales_) scales_->Start();
  auth_config_.Start();
  if (replicas_) replicas_->Start();
  if (config_.manage_apiservice_ca) {
    ca_ = std::make_unique<kube::ApiServiceCa>(
        kube::ApiServiceCa::Options{.ns = config_.pod_namespace,
                                    .secret = config_.apiservice_ca_secret,
                                    .service = config_.service_name,
                                    .api_services = OurApiServices(config_)},
        kube::ApiServiceCa::Context{.api = api_,
                                    .registry = registry_,
                                    .clock = clock_,
                                    .random = random_,
                                    .install = std::move(install)});
    ca_->Start();
  }
  if (config_.external_metrics) TellOwnerOfExternalMetrics();
  thread_ = std::make_unique<Thread>("kube", [this] { http_.Run(); });
}

void Cluster::TellOwnerOfExternalMetrics() {
  kube::FindApiServiceOwner(
      api_, kExternalApiService, [this](const base::Result<kube::ApiServiceOwner>& owner) {
        if (owner) {
          TellOwner(owner->ns, owner->service);
        } else if (owner.error().code == base::Code::kNotFound) {
          LOG_INFO("the APIService {} does not exist yet: nobody serves external metrics",
                   kExternalApiService);
        } else {
          LOG_WARNING("who serves external metrics in this cluster is not known: {}",
                      owner.error().message);
        }
      });
}

void Cluster::TellOwner(std::string_view ns, std::string_view service) const {
  if (service == config_.service_name &&
      (config_.pod_namespace.empty() || ns == config_.pod_namespace)) {
    LOG_INFO("the APIService {} belongs to our Service {}/{}", kExternalApiService, ns, service);
    return;
  }
  LOG_WARNING(
      "the APIService {} belongs to the Service {}/{}, not to ours: HPAs read external metrics "
      "there, not here; a cluster has one owner, so remove that one or leave --external-metrics "
      "out",
      kExternalApiService, ns, service);
}

void Cluster::Stop() {
  http_.Stop();
  thread_.reset();
}

void Cluster::AddChecks(telemetry::HealthChecks& checks) {
  checks.Add("pods", [this] { return pods_.Health(); });
  if (!config_.authentication_tolerate_lookup_failure) {
    checks.Add("delegated-auth", [this] { return auth_config_.Health(); });
  }
  if (replicas_ && config_.redis.address.empty())
    checks.Add("replicas", [this] { return CheckReplicas(); });
  if (config_.manage_apiservice_ca) {
    // Told, not failed: a replica with another certificate still serves who trusts it.
    checks.Add("apiservice-ca", [this] {
      return telemetry::CheckResult{true, ca_ ? ca_->Health().reason : "not started"};
    });
  }
}

std::optional<std::vector<std::string>> Cluster::ReadyReplicas() const {
  if (!replicas_) return std::vector<std::string>();
  auto ready = replicas_->ReadyPods();
  return ready ? std::optional(*std::move(ready)) : std::nullopt;
}

telemetry::CheckResult Cluster::CheckReplicas() {
  const auto ready = replicas_->ReadyPods();
  if (!ready) return {true, ready.error().message};
  std::vector<std::string> others;
  for (const std::string& pod : *ready) {
    if (pod != config_.pod_name) others.push_back(pod);
  }
  other_replicas_.Set(static_cast<double>(others.size()));
  if (others.empty()) return {true, "no other ready replica"};
  const std::string text = fmt::format(
      "another ready replica ({}) and no shared store: each knows only the pods whose "
      "streams it holds; run one replica, or give all of them a Redis",
      fmt::join(others, ", "));
  if (replica_warning_.Pass(clock_.Now())) LOG_WARNING("{}", text);
  return {true, text};
}

}  // namespace activescale::app
