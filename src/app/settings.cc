#include "app/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/setting_values.h"
#include "app/signal_settings.h"
#include "metric/stat_chooser.h"

namespace activescale::app {
namespace {

using Assigned = Setting::Assigned;
using std::chrono::nanoseconds;
using std::chrono::seconds;

Assigned AssignAbsentFamily(Config& config, std::string_view text) {
  if (text != "keep" && text != "zero") return Wrong(text, "keep or zero");
  config.absent_family = text == "keep" ? ingest::AbsentFamily::kKeep : ingest::AbsentFamily::kZero;
  return {};
}

Assigned AssignPodSource(Config& config, std::string_view text) {
  constexpr std::pair<std::string_view, PodSource> kSources[] = {
      {"auto", PodSource::kAuto},
      {"kubernetes", PodSource::kKubernetes},
      {"envoy", PodSource::kEnvoy}};
  for (const auto& [name, source] : kSources) {
    if (name != text) continue;
    config.pod_source = source;
    return {};
  }
  return Wrong(text, "auto, kubernetes or envoy");
}

Assigned AssignStoreOutage(Config& config, std::string_view text) {
  constexpr std::pair<std::string_view, StoreOutage> kRules[] = {
      {"last", StoreOutage::kLast}, {"fail", StoreOutage::kFail}, {"serve", StoreOutage::kServe}};
  for (const auto& [name, rule] : kRules) {
    if (name != text) continue;
    config.store_outage = rule;
    return {};
  }
  return Wrong(text, "last, fail or serve");
}

Assigned AssignScaleAhead(Config& config, std::string_view text) {
  constexpr std::pair<std::string_view, ScaleAhead> kModes[] = {
      {"off", ScaleAhead::kOff}, {"observe", ScaleAhead::kObserve}, {"on", ScaleAhead::kOn}};
  for (const auto& [name, mode] : kModes) {
    if (name != text) continue;
    config.scale_ahead = mode;
    return {};
  }
  return Wrong(text, "off, observe or on");
}

Assign Redis(std::string redis::Settings::* member) {
  return [=](Config& config, std::string_view text) -> Assigned {
    config.redis.*member = text;
    return {};
  };
}

Assign Redis(bool redis::Settings::* member) {
  return [=](Config& config, std::string_view text) -> Assigned {
    if (text != "true" && text != "false") return Wrong(text, "true or false");
    config.redis.*member = text == "true";
    return {};
  };
}

Assigned AssignRedisContext(Config& config, std::string_view text) {
  // A key's slot in a Cluster is that of the text between its first braces, which are ours.
  if (text.find_first_of("{}") != std::string_view::npos) {
    return Wrong(text, "a prefix without { and }, which would change the Cluster slot of our keys");
  }
  config.redis_context = text;
  return {};
}

Assigned AssignPeerCheck(Config& config, std::string_view text) {
  if (text != "off" && text != "count" && text != "enforce") {
    return Wrong(text, "off, count or enforce");
  }
  config.checks_peers = text != "off";
  config.refuses_wrong_peers = text == "enforce";
  return {};
}

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr nanoseconds kDay = std::chrono::hours(24);

constexpr std::string_view kIngest = "Ingest (Envoy's metrics service)";
constexpr std::string_view kStore = "Store";
constexpr std::string_view kApi = "Custom Metrics API";
constexpr std::string_view kKubernetes = "Kubernetes";
constexpr std::string_view kHealth = "Health";
constexpr std::string_view kDashboard = "Dashboard";
constexpr std::string_view kProcess = "Process";

constexpr std::string_view kBindHelp =
    "IP address to listen on. Empty: 0.0.0.0 in a cluster, else 127.0.0.1, or 0.0.0.0 with "
    "insecure-no-auth.";

std::vector<Setting> IngestSettings() {
  return {
      {kIngest, "grpc-bind-address", "ACTIVESCALE_GRPC_BIND_ADDRESS", "address", "", kBindHelp,
       Address(&Config::grpc_bind_address)},
      {kIngest, "grpc-port", "GRPC_PORT", "port", "9000",
       "Port for Envoy's StreamMetrics. 0: a free one.", Port(&Config::grpc_port)},
      {kIngest, "grpc-tls-cert-file", "ACTIVESCALE_GRPC_TLS_CERT_FILE", "file", "",
       "PEM certificate chain for the gRPC port; read again when it changes. Empty: plain text.",
       Text(&Config::grpc_tls_cert_file)},
      {kIngest, "grpc-tls-private-key-file", "ACTIVESCALE_GRPC_TLS_PRIVATE_KEY_FILE", "file", "",
       "PEM private key of grpc-tls-cert-file.", Text(&Config::grpc_tls_private_key_file)},
      {kIngest, "grpc-tls-client-ca-file", "ACTIVESCALE_GRPC_TLS_CLIENT_CA_FILE", "file", "",
       "PEM authorities that must have signed Envoy's certificate (mutual TLS). Empty: Envoys "
       "need "
       "no certificate.",
       Text(&Config::grpc_tls_client_ca_file)},
      {kIngest, "grpc-max-recv-msg-size", "GRPC_MAX_RECV_MSG_SIZE", "bytes", "32Mi",
       "Largest message taken; a larger one ends its stream with RESOURCE_EXHAUSTED.",
       Bytes(&Config::grpc_max_recv_msg_size_bytes, 1 << 10, kGiB)},
      {kIngest, "grpc-max-streams", "ACTIVESCALE_GRPC_MAX_STREAMS", "number", "20000",
       "Open streams at most; one more ends with RESOURCE_EXHAUSTED.",
       Whole(&Config::grpc_max_streams, 1, 1'000'000)},
      {kIngest, "grpc-memory-limit", "ACTIVESCALE_GRPC_MEMORY_LIMIT", "bytes", "256Mi",
       "Memory that gRPC may use for buffers of all streams together.",
       Bytes(&Config::grpc_memory_limit_bytes, 16 << 20, 64 * kGiB)},
      {kIngest, "grpc-max-connection-age", "ACTIVESCALE_GRPC_MAX_CONNECTION_AGE", "duration", "0s",
       "Age (±10 %) at which a connection is asked to end, so that streams spread over new "
       "replicas. 0s: never.",
       Duration(&Config::grpc_max_connection_age, seconds(0), 365 * kDay)},
      {kIngest, "grpc-max-connection-age-grace", "ACTIVESCALE_GRPC_MAX_CONNECTION_AGE_GRACE",
       "duration", "1s",
       "Time from grpc-max-connection-age until a connection is cut. Streams have no end of "
       "their "
       "own, so they move when it is over.",
       Duration(&Config::grpc_max_connection_age_grace, seconds(0), kDay)},
      {kIngest, "inbound-stat-prefixes", "ACTIVESCALE_INBOUND_STAT_PREFIXES", Setting::kList,
       "inbound_*",
       "Globs of HTTP stat prefixes that count as inbound_active_requests. Istio's are "
       "inbound_*; "
       "of a plain Envoy or a gateway give its own.",
       List(&Config::inbound_stat_prefixes)},
      {kIngest, "outbound-stat-prefixes", "ACTIVESCALE_OUTBOUND_STAT_PREFIXES", Setting::kList,
       "outbound_*", "Globs of HTTP stat prefixes that count as outbound_active_requests.",
       List(&Config::outbound_stat_prefixes)},
      {kIngest, "absent-family", "ACTIVESCALE_ABSENT_FAMILY", "keep|zero", "keep",
       "What a metric becomes when a flush does not mention it any more: it keeps its last value "
       "until its TTL, or is zero at once.",
       AssignAbsentFamily},
      {kIngest, "ingest-peer-check", "ACTIVESCALE_INGEST_PEER_CHECK", "off|count|enforce", "count",
       "What happens when an Envoy does not have the address of the pod that it claims to be, as "
       "the pod watch knows it: nothing, a counter and a warning, or a refusal.",
       AssignPeerCheck},
      {kIngest, "envoy-stats", "ACTIVESCALE_ENVOY_STATS", Setting::kList, "",
       "RE2 expressions over whole stat names: gauges and counters of Envoy that become series "
       "too. Empty: none.",
       List(&Config::envoy_stats)},
      {kIngest, "cluster-id", "ACTIVESCALE_CLUSTER_ID", "text", "",
       "CLUSTER_ID of the Envoys to accept. Empty: all; a second one is reported.",
       Text(&Config::cluster_id)},
  };
}

std::vector<Setting> RedisSettings() {
  using S = redis::Settings;
  return {
      {kStore, "redis-addr", "REDIS_ADDR", "host:port,...|URL", "",
       "Redis or Valkey that all replicas share; several addresses are a Cluster, or Sentinels "
       "with "
       "redis-sentinel-master. Empty: the state is in memory.",
       Redis(&S::address)},
      {kStore, "redis-context", "REDIS_CONTEXT", "text", "activescale",
       "Prefix of all keys, without { and }.", AssignRedisContext},
      {kStore, "redis-cluster", "REDIS_CLUSTER", Setting::kSwitch, "false",
       "The address is a node of a Cluster.", Redis(&S::cluster)},
      {kStore, "redis-username", "REDIS_USERNAME", "text", "", "ACL user.", Redis(&S::user)},
      {kStore, "redis-password", "REDIS_PASSWORD", "text", "",
       "Password; better in redis-password-file or the variable.", Redis(&S::password)},
      {kStore, "redis-password-file", "REDIS_PASSWORD_FILE", "file", "",
       "File with the password; read at each connection.", Redis(&S::password_file)},
      {kStore, "redis-tls", "REDIS_TLS", Setting::kSwitch, "false", "Connect by TLS.",
       Redis(&S::tls)},
      {kStore, "redis-tls-insecure", "REDIS_TLS_INSECURE", Setting::kSwitch, "false",
       "Do not verify Redis's certificate.", Redis(&S::tls_insecure)},
      {kStore, "redis-ca-file", "REDIS_CA_FILE", "file", "", "PEM authorities of its certificate.",
       Redis(&S::ca_file)},
      {kStore, "redis-cert-file", "REDIS_CERT_FILE", "file", "", "PEM client certificate.",
       Redis(&S::cert_file)},
      {kStore, "redis-key-file", "REDIS_KEY_FILE", "file", "", "PEM key of redis-cert-file.",
       Redis(&S::key_file)},
      {kStore, "redis-tls-server-name", "REDIS_TLS_SERVER_NAME", "name", "",
       "Name in its certificate. Empty: the host as addressed.", Redis(&S::server_name)},
      {kStore, "redis-sentinel-master", "REDIS_SENTINEL_MASTER", "name", "",
       "Name of the master that the Sentinels watch.", Redis(&S::sentinel_master)},
      {kStore, "redis-sentinel-username", "REDIS_SENTINEL_USERNAME", "text", "",
       "ACL user at the Sentinels.", Redis(&S::sentinel_user)},
      {kStore, "redis-sentinel-password", "REDIS_SENTINEL_PASSWORD", "text", "",
       "Password at the Sentinels.", Redis(&S::sentinel_password)},
      {kStore, "redis-sentinel-password-file", "REDIS_SENTINEL_PASSWORD_FILE", "file", "",
       "File with the password at the Sentinels.", Redis(&S::sentinel_password_file)},
      {kStore, "readiness-on-store-outage", "ACTIVESCALE_READINESS_ON_STORE_OUTAGE",
       "last|fail|serve", "last",
       "Whether a replica that cannot reach the shared store is ready: last: only if no other one "
       "is, so that the APIService stays available; fail: no; serve: yes.",
       AssignStoreOutage},
  };
}

std::vector<Setting> KubernetesSettings() {
  return {
      {kKubernetes, "pod-source", "ACTIVESCALE_POD_SOURCE", "auto|kubernetes|envoy", "auto",
       "Where the pods that exist are known from: kube-apiserver, or the Envoys that push. auto: "
       "a "
       "cluster if there is one.",
       AssignPodSource},
      {kKubernetes, "kubeconfig", "ACTIVESCALE_KUBECONFIG", "file", "",
       "Access to kube-apiserver. Empty: the pod's service account.", Text(&Config::kubeconfig)},
      {kKubernetes, "lister-kubeconfig", "ACTIVESCALE_LISTER_KUBECONFIG", "file", "",
       "Access for listing and watching. Empty: kubeconfig.", Text(&Config::lister_kubeconfig)},
      {kKubernetes, "authentication-kubeconfig", "ACTIVESCALE_AUTHENTICATION_KUBECONFIG", "file",
       "", "Access for TokenReviews and the aggregator's CA. Empty: as for listing.",
       Text(&Config::authentication_kubeconfig)},
      {kKubernetes, "authorization-kubeconfig", "ACTIVESCALE_AUTHORIZATION_KUBECONFIG", "file", "",
       "Access for SubjectAccessReviews. Empty: as for listing.",
       Text(&Config::authorization_kubeconfig)},
      {kKubernetes, "namespaces", "ACTIVESCALE_NAMESPACES", Setting::kList, "",
       "Namespaces to watch; Roles in them are enough then. Empty: all.",
       List(&Config::namespaces)},
      {kKubernetes, "include-terminating-pods", "ACTIVESCALE_INCLUDE_TERMINATING_PODS",
       Setting::kSwitch, "false", "Serve pods that are being deleted, too.",
       Switch(&Config::include_terminating_pods)},
      {kKubernetes, "authentication-tolerate-lookup-failure",
       "ACTIVESCALE_AUTHENTICATION_TOLERATE_LOOKUP_FAILURE", Setting::kSwitch, "false",
       "Go on with bearer tokens alone when the aggregator's CA cannot be read.",
       Switch(&Config::authentication_tolerate_lookup_failure)},
      {kKubernetes, "scale-ahead", "ACTIVESCALE_SCALE_AHEAD", "off|observe|on", "off",
       "Scale up the targets of HPAs that have the annotation activescale.io/scale-ahead in the "
       "second in which a push asks for it, within the HPA's own limits, instead of at the "
       "controller's next sync; or only tell by events what would be done. Needs the right to "
       "watch HPAs, Deployments and StatefulSets, to write events and to patch scales.",
       AssignScaleAhead},
      {kKubernetes, "manage-apiservice-ca", "ACTIVESCALE_MANAGE_APISERVICE_CA", Setting::kSwitch,
       "false",
       "Make a CA, keep it in apiservice-ca-secret, sign the serving certificate with it and "
       "write "
       "it into our APIServices.",
       Switch(&Config::manage_apiservice_ca)},
      {kKubernetes, "apiservice-ca-secret", "ACTIVESCALE_APISERVICE_CA_SECRET", "name",
       "activescale-ca", "Secret, made empty beforehand, that holds the CA.",
       Text(&Config::apiservice_ca_secret)},
      {kKubernetes, "service-name", "ACTIVESCALE_SERVICE_NAME", "name", "activescale",
       "Service that the APIServices point to, in the pod's namespace.",
       Text(&Config::service_name)},
      {kKubernetes, "pod-name", "POD_NAME", "name", "", "This pod, by the downward API.",
       Text(&Config::pod_name)},
      {kKubernetes, "pod-namespace", "POD_NAMESPACE", "name", "",
       "This pod's namespace, by the downward API.", Text(&Config::pod_namespace)},
      {kKubernetes, "kubernetes-service-host", "KUBERNETES_SERVICE_HOST", "address", "",
       "kube-apiserver, as Kubernetes tells every pod.", Text(&Config::kubernetes_service_host)},
      {kKubernetes, "kubernetes-service-port", "KUBERNETES_SERVICE_PORT", "port", "443",
       "Port of kubernetes-service-host.", Text(&Config::kubernetes_service_port)},
  };
}

std::vector<Setting> OtherSettings() {
  return {
      {kStore, "ttl", "METRIC_TTL", "duration", "20s",
       "Age at which a sample or a heartbeat stops counting. Keep it at three flush intervals of "
       "Envoy or more.",
       Duration(&Config::ttl, std::chrono::milliseconds(100), kDay)},
      {kStore, "max-pods", "ACTIVESCALE_MAX_PODS", "number", "200000",
       "Pods kept in memory at most; one more is refused and counted.",
       Whole(&Config::max_pods, 1, 10'000'000)},
      {kApi, "bind-address", "ACTIVESCALE_BIND_ADDRESS", "address", "", kBindHelp,
       Address(&Config::bind_address)},
      {kApi, "secure-port", "ACTIVESCALE_SECURE_PORT", "port", "6443",
       "HTTPS port of the Custom Metrics API. 0: a free one.", Port(&Config::secure_port)},
      {kApi, "cert-dir", "ACTIVESCALE_CERT_DIR", "folder", "apiserver.local.config/certificates",
       "Where a self-signed certificate is kept when tls-cert-file is not given.",
       Text(&Config::cert_dir)},
      {kApi, "tls-cert-file", "ACTIVESCALE_TLS_CERT_FILE", "file", "",
       "PEM certificate chain of the API; read again when it changes.",
       Text(&Config::tls_cert_file)},
      {kApi, "tls-private-key-file", "ACTIVESCALE_TLS_PRIVATE_KEY_FILE", "file", "",
       "PEM private key of tls-cert-file.", Text(&Config::tls_private_key_file)},
      {kApi, "insecure-no-auth", "ACTIVESCALE_INSECURE_NO_AUTH", Setting::kSwitch, "false",
       "Listen beyond loopback although no caller is authenticated: whoever reaches the ports "
       "can "
       "read all metrics and push false ones.",
       Switch(&Config::insecure_no_auth)},
      {kHealth, "health-bind-address", "ACTIVESCALE_HEALTH_BIND_ADDRESS", "address", "", kBindHelp,
       Address(&Config::health_bind_address)},
      {kHealth, "health-port", "ACTIVESCALE_HEALTH_PORT", "port", "18080",
       "Plain HTTP port of /healthz, /livez, /readyz and /metrics. 0: a free one.",
       Port(&Config::health_port)},
      {kDashboard, "dashboard-address", "ACTIVESCALE_DASHBOARD_ADDRESS", "host:port", "",
       "Where to show workloads live in a browser; 127.0.0.1:18081 is right with kubectl "
       "port-forward: plain HTTP on loopback, for requests to localhost. Elsewhere HTTPS to whom "
       "kube-apiserver allows `get` of the path /activescale/dashboard, or plain HTTP with "
       "insecure-no-auth. Empty: not served.",
       Listen(&Config::dashboard_address)},
      {kProcess, "shutdown-delay-duration", "ACTIVESCALE_SHUTDOWN_DELAY_DURATION", "duration", "5s",
       "Time from SIGTERM, when /readyz turns 503, until the ports close.",
       Duration(&Config::shutdown_delay, seconds(0), std::chrono::hours(1))},
      {kProcess, "log-metrics-summary-interval", "LOG_METRICS_SUMMARY_INTERVAL", "duration", "30s",
       "How often the log sums up what came in. 0s: never.",
       Duration(&Config::log_summary_interval, seconds(0), kDay)},
      {kProcess, "v", "LOG_VERBOSITY", "number", "0",
       "Verbosity of the log; from 4 on each sample and each skipped metric is told.",
       Whole(&Config::verbosity, 0, 10)},
  };
}

}  // namespace

std::span<const Setting> Settings() {
  static const std::vector<Setting> settings = [] {
    std::vector<Setting> all = IngestSettings();
    std::ranges::move(OtherSettings(), std::back_inserter(all));
    std::ranges::move(RedisSettings(), std::back_inserter(all));
    std::ranges::move(SignalSettings(), std::back_inserter(all));
    std::ranges::move(KubernetesSettings(), std::back_inserter(all));
    return all;
  }();
  return settings;
}

bool ExpectsCluster(const Config& config) {
  if (config.pod_source != PodSource::kAuto) return config.pod_source == PodSource::kKubernetes;
  return !config.kubeconfig.empty() || !config.lister_kubeconfig.empty() ||
         !config.kubernetes_service_host.empty();
}

std::string BindAddress(const Config& config, std::string_view chosen) {
  if (!chosen.empty()) return std::string(chosen);
  return ExpectsCluster(config) || config.insecure_no_auth ? "0.0.0.0" : "127.0.0.1";
}

std::vector<std::string> CrossFaults(const Config& config) {
  std::vector<std::string> faults;
  CheckPair("tls-cert-file", config.tls_cert_file, "tls-private-key-file",
            config.tls_private_key_file, faults);
  CheckPair("grpc-tls-cert-file", config.grpc_tls_cert_file, "grpc-tls-private-key-file",
            config.grpc_tls_private_key_file, faults);
  if (!config.grpc_tls_client_ca_file.empty() && config.grpc_tls_cert_file.empty()) {
    faults.emplace_back(
        "grpc-tls-client-ca-file is given without grpc-tls-cert-file: client certificates are "
        "only asked for over TLS");
  }
  const std::pair<std::string_view, const std::string&> addresses[] = {
      {"grpc-bind-address", config.grpc_bind_address},
      {"bind-address", config.bind_address},
      {"health-bind-address", config.health_bind_address}};
  for (const auto& [name, address] : addresses) {
    const bool open = config.insecure_no_auth || ExpectsCluster(config);
    if (address.empty() || IsLoopback(address) || open) continue;
    faults.push_back(
        fmt::format("{} {} is reachable from other machines and no caller is authenticated: use "
                    "127.0.0.1, or give --insecure-no-auth to accept that",
                    name, address));
  }
  if (config.dashboard_address.given() && !IsLoopback(config.dashboard_address.host) &&
      !config.insecure_no_auth && !ExpectsCluster(config)) {
    faults.push_back(
        fmt::format("dashboard-address {} is reachable from other machines and nobody can tell who "
                    "looks: use 127.0.0.1, or give --insecure-no-auth to accept that",
                    config.dashboard_address.host));
  }
  if (!config.redis.address.empty()) {
    if (const auto parsed = redis::MakeConfig(config.redis); !parsed) {
      faults.push_back(parsed.error().message);
    }
    if (!ExpectsCluster(config)) {
      faults.emplace_back(
          "redis-addr is for several replicas, and those need the pods from kube-apiserver: each "
          "would know only the pods that push to it. Give --kubeconfig, or leave redis-addr out");
    }
  }
  if (const auto chooser = metric::StatChooser::Make(config.envoy_stats); !chooser) {
    faults.push_back("envoy-stats: " + chooser.error().message);
  }
  if (config.manage_apiservice_ca && !config.tls_cert_file.empty()) {
    faults.emplace_back(
        "manage-apiservice-ca makes the serving certificate itself: leave tls-cert-file out");
  }
  if (config.manage_apiservice_ca && (!ExpectsCluster(config) || config.pod_namespace.empty())) {
    faults.emplace_back(
        "manage-apiservice-ca needs a cluster and pod-namespace (POD_NAMESPACE by the downward "
        "API): the CA is kept in a Secret there");
  }
  if (config.scale_ahead != ScaleAhead::kOff && !ExpectsCluster(config)) {
    faults.emplace_back("scale-ahead needs a cluster whose HPAs it watches: give --kubeconfig");
  }
  std::ranges::move(SignalFaults(config), std::back_inserter(faults));
  const std::pair<std::string_view, uint16_t> ports[] = {
      {"grpc-port", config.grpc_port},
      {"secure-port", config.secure_port},
      {"health-port", config.health_port},
      {"the port of keda-address", config.keda_address.port},
      {"the port of dashboard-address", config.dashboard_address.port}};
  for (size_t i = 0; i < std::size(ports); ++i) {
    for (size_t j = i + 1; j < std::size(ports); ++j) {
      if (ports[i].second == 0 || ports[i].second != ports[j].second) continue;
      faults.push_back(fmt::format("{} and {} are both {}: give each its own port", ports[i].first,
                                   ports[j].first, ports[i].second));
    }
  }
  return faults;
}

}  // namespace activescale::app
