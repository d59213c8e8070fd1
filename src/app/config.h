#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ingest/flush_aggregator.h"
#include "promql/dialect.h"
#include "redis/config.h"

namespace activescale::app {

/// Where the pods that exist are known from.
enum class PodSource : uint8_t {
  kAuto,        // a cluster if there is one, else the Envoys
  kKubernetes,  // kube-apiserver
  kEnvoy,       // the Envoys that push
};

/// Whether a replica is ready while the shared store is away for it.
enum class StoreOutage : uint8_t {
  kLast,   // only while no other replica is ready
  kFail,   // never
  kServe,  // always
};

/// Whether HPAs that ask for it are scaled ahead of their controller.
enum class ScaleAhead : uint8_t {
  kOff,
  kObserve,  // only told what would have been done
  kOn,
};

/// Where a port is that only a setting opens.
struct ListenAddress {
  std::string host;  // empty: it is not opened
  uint16_t port = 0;

  [[nodiscard]] bool given() const { return !host.empty(); }
};

/// The settings of `activescale serve`, checked. Defaults, names and help: app/settings.cc.
struct Config {
  // Ingest.
  std::string grpc_bind_address;  // as all of them empty: BindAddress decides
  uint16_t grpc_port = 0;
  std::string grpc_tls_cert_file;
  std::string grpc_tls_private_key_file;
  std::string grpc_tls_client_ca_file;
  size_t grpc_max_recv_msg_size_bytes = 0;
  size_t grpc_max_streams = 0;
  size_t grpc_memory_limit_bytes = 0;
  std::chrono::nanoseconds grpc_max_connection_age{};  // 0: streams may stay for ever
  std::chrono::nanoseconds grpc_max_connection_age_grace{};
  std::vector<std::string> inbound_stat_prefixes;
  std::vector<std::string> outbound_stat_prefixes;
  ingest::AbsentFamily absent_family = ingest::AbsentFamily::kKeep;
  bool checks_peers = true;  // of senders, against the pod watch
  bool refuses_wrong_peers = false;
  std::string cluster_id;                // empty: the first one seen
  std::vector<std::string> envoy_stats;  // patterns of names

  // Store.
  std::chrono::nanoseconds ttl{};
  size_t max_pods = 0;
  redis::Settings redis;      // no address: the state is in memory
  std::string redis_context;  // prefix of all keys
  StoreOutage store_outage = StoreOutage::kLast;

  // Custom Metrics API.
  std::string bind_address;
  uint16_t secure_port = 0;
  std::string cert_dir;
  std::string tls_cert_file;
  std::string tls_private_key_file;
  bool insecure_no_auth = false;

  // Signals.
  std::string signals_file;
  bool external_metrics = false;
  bool tenant_queries = false;
  ListenAddress keda_address;
  std::string keda_tls_cert_file;
  std::string keda_tls_private_key_file;
  std::string keda_tls_client_ca_file;
  bool keda_insecure_no_auth = false;
  ListenAddress query_address;
  std::string query_path_prefix;
  std::string query_bearer_token_file;
  ListenAddress remote_write_address;
  std::string remote_write_bearer_token_file;
  promql::Dialect promql_dialect = promql::Dialect::kPrometheus3;
  std::string scrape_config;  // a file; empty: nothing is scraped
  size_t series_memory_bytes = size_t{64} << 20;
  std::vector<std::string> keep;  // selectors
  std::string data_dir;           // empty: series are in memory alone
  std::chrono::nanoseconds retention{};
  bool watch_hpas = false;

  // Kubernetes.
  PodSource pod_source = PodSource::kAuto;
  std::string kubeconfig;         // empty: the pod's service account
  std::string lister_kubeconfig;  // each empty: kubeconfig
  std::string authentication_kubeconfig;
  std::string authorization_kubeconfig;
  std::vector<std::string> namespaces;  // empty: all
  bool include_terminating_pods = false;
  bool authentication_tolerate_lookup_failure = false;
  bool manage_apiservice_ca = false;
  std::string apiservice_ca_secret;
  std::string service_name;
  std::string pod_name;  // these four are what Kubernetes says in the pod's environment
  std::string pod_namespace;
  std::string kubernetes_service_host;
  std::string kubernetes_service_port;

  ScaleAhead scale_ahead = ScaleAhead::kOff;

  // Dashboard.
  ListenAddress dashboard_address;

  // Health and self-metrics.
  std::string health_bind_address;
  uint16_t health_port = 0;

  // Process.
  std::chrono::nanoseconds shutdown_delay{};
  std::chrono::nanoseconds log_summary_interval{};  // 0: no summary
  int verbosity = 0;
};

}  // namespace activescale::app
