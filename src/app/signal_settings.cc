#include "app/signal_settings.h"

#include <fmt/format.h>

#include "app/kept_selectors.h"
#include "app/setting_values.h"
#include "app/signal_http.h"

namespace activescale::app {
namespace {

using std::chrono::hours;

Assign PathPrefix(std::string Config::* member) {
  return [=](Config& config, std::string_view text) -> Setting::Assigned {
    if (!text.empty() && (!text.starts_with('/') || text.ends_with('/'))) {
      return Wrong(text, "a path that begins with a slash and does not end with one");
    }
    config.*member = text;
    return {};
  };
}

constexpr std::string_view kSignals = "Signals";
constexpr std::string_view kKeda = "KEDA external scaler";
constexpr std::string_view kSeries = "Series";

/// Commas are in selectors, too.
Setting::Assigned AssignKeep(Config& config, std::string_view text) {
  config.keep = SplitSelectors(text);
  return {};
}

Setting::Assigned AssignDialect(Config& config, std::string_view text) {
  if (text != "2" && text != "3") return Wrong(text, "2 or 3");
  config.promql_dialect =
      text == "2" ? promql::Dialect::kPrometheus2 : promql::Dialect::kPrometheus3;
  return {};
}

void CheckKeda(const Config& config, std::vector<std::string>& faults) {
  CheckPair("keda-tls-cert-file", config.keda_tls_cert_file, "keda-tls-private-key-file",
            config.keda_tls_private_key_file, faults);
  if (!config.keda_tls_client_ca_file.empty() && config.keda_tls_cert_file.empty()) {
    faults.emplace_back(
        "keda-tls-client-ca-file is given without keda-tls-cert-file: client certificates are only "
        "asked for over TLS");
  }
  const bool authenticated = !config.keda_tls_client_ca_file.empty() ||
                             config.keda_insecure_no_auth || config.insecure_no_auth;
  if (config.keda_address.given() && !IsLoopback(config.keda_address.host) && !authenticated) {
    faults.push_back(
        fmt::format("keda-address {} is reachable from other machines and no caller is "
                    "authenticated: give keda-tls-client-ca-file, or --keda-insecure-no-auth to "
                    "accept that",
                    config.keda_address.host));
  }
}

/// The ports of signal_http.h, and what is scraped.
void CheckHttp(const Config& config, std::vector<std::string>& faults) {
  const struct {
    std::string_view name;
    const ListenAddress& address;
    const std::string& token_file;
  } ports[] = {
      {"query", config.query_address, config.query_bearer_token_file},
      {"remote-write", config.remote_write_address, config.remote_write_bearer_token_file}};
  for (const auto& port : ports) {
    const bool open = port.address.given() && !IsLoopback(port.address.host);
    const bool checked =
        !port.token_file.empty() || config.insecure_no_auth || ExpectsCluster(config);
    if (!open || checked) continue;
    faults.push_back(
        fmt::format("{0}-address {1} is reachable from other machines and no caller is "
                    "authenticated: use 127.0.0.1, give {0}-bearer-token-file, or give "
                    "--insecure-no-auth to accept that",
                    port.name, port.address.host));
  }
  const bool knows_callers =
      config.query_bearer_token_file.empty() && !config.insecure_no_auth && ExpectsCluster(config);
  if (config.tenant_queries && config.query_address.given() && !knows_callers) {
    faults.emplace_back(
        "tenant-queries is given with query-address, and callers have no namespace: that takes "
        "tokens of service accounts, so give a cluster, and neither query-bearer-token-file nor "
        "insecure-no-auth");
  }
  if (!config.scrape_config.empty()) {
    const auto checked = CheckScrapeConfig(config);
    if (!checked) faults.push_back("scrape-config: " + checked.error().message);
  }
}

}  // namespace

std::vector<Setting> SignalSettings() {
  return {
      {kSignals, "signals-file", "ACTIVESCALE_SIGNALS_FILE", "file", "",
       "YAML with named expressions for autoscalers; read again when it changes. Empty: none.",
       Text(&Config::signals_file)},
      {kSignals, "external-metrics", "ACTIVESCALE_EXTERNAL_METRICS", Setting::kSwitch, "false",
       "Serve the signals as external.metrics.k8s.io, too. Only one server of a cluster can: KEDA "
       "is such a server.",
       Switch(&Config::external_metrics)},
      {kSignals, "tenant-queries", "ACTIVESCALE_TENANT_QUERIES", Setting::kSwitch, "false",
       "A query that somebody brings sees only series whose namespace label is that of the "
       "ScaledObject it belongs to, or, of the query API, of the service account that asks.",
       Switch(&Config::tenant_queries)},
      {kSignals, "promql-compat", "ACTIVESCALE_PROMQL_COMPAT", "2|3", "3",
       "Whose PromQL is meant where the versions differ: a range of Prometheus 2.x includes its "
       "first moment, that of Prometheus 3 does not.",
       AssignDialect},
      {kKeda, "keda-address", "ACTIVESCALE_KEDA_ADDRESS", "address:port", "",
       "Where KEDA's operator finds its external scaler (gRPC), such as 0.0.0.0:9091. Empty: "
       "nowhere.",
       Listen(&Config::keda_address)},
      {kKeda, "keda-tls-cert-file", "ACTIVESCALE_KEDA_TLS_CERT_FILE", "file", "",
       "PEM certificate chain for keda-address; read again when it changes. Empty: plain text.",
       Text(&Config::keda_tls_cert_file)},
      {kKeda, "keda-tls-private-key-file", "ACTIVESCALE_KEDA_TLS_PRIVATE_KEY_FILE", "file", "",
       "PEM private key of keda-tls-cert-file.", Text(&Config::keda_tls_private_key_file)},
      {kKeda, "keda-tls-client-ca-file", "ACTIVESCALE_KEDA_TLS_CLIENT_CA_FILE", "file", "",
       "PEM authorities that must have signed the certificate of KEDA's operator (mutual TLS).",
       Text(&Config::keda_tls_client_ca_file)},
      {kKeda, "keda-insecure-no-auth", "ACTIVESCALE_KEDA_INSECURE_NO_AUTH", Setting::kSwitch,
       "false",
       "Listen for KEDA beyond loopback although no caller shows a certificate: whoever reaches "
       "the port can evaluate any query.",
       Switch(&Config::keda_insecure_no_auth)},
      {kSignals, "query-address", "ACTIVESCALE_QUERY_ADDRESS", "host:port", "",
       "Where to serve Prometheus's query API, for Grafana and KEDA's prometheus trigger (with "
       "ignoreNullValues: \"false\"). HTTPS to whom kube-apiserver allows `get` of the path "
       "/activescale/query, or to who has the token; plain HTTP for everybody on loopback without "
       "a cluster, and with insecure-no-auth. Empty: not served.",
       Listen(&Config::query_address)},
      {kSignals, "query-path-prefix", "ACTIVESCALE_QUERY_PATH_PREFIX", "path", "",
       "Path before /api/v1, besides none and /prometheus.",
       PathPrefix(&Config::query_path_prefix)},
      {kSignals, "query-bearer-token-file", "ACTIVESCALE_QUERY_BEARER_TOKEN_FILE", "file", "",
       "File with the token that readers must send; read at each request.",
       Text(&Config::query_bearer_token_file)},
      {kSignals, "remote-write-address", "ACTIVESCALE_REMOTE_WRITE_ADDRESS", "host:port", "",
       "Where to take a Prometheus's remote_write 1.0, at /api/v1/write. Protected as "
       "query-address, with `post` of the path /activescale/write. Empty: not taken.",
       Listen(&Config::remote_write_address)},
      {kSignals, "remote-write-bearer-token-file", "ACTIVESCALE_REMOTE_WRITE_BEARER_TOKEN_FILE",
       "file", "", "File with the token that writers must send; read at each request.",
       Text(&Config::remote_write_bearer_token_file)},
      {kSignals, "scrape-config", "ACTIVESCALE_SCRAPE_CONFIG", "file", "",
       "What to scrape: a part of Prometheus's configuration, with kubernetes_pods and "
       "kubernetes_endpoints; read again when it changes. Only series that some expression asks "
       "for are kept. Empty: nothing.",
       Text(&Config::scrape_config)},
      {kSeries, "series-memory", "ACTIVESCALE_SERIES_MEMORY", "bytes", "64Mi",
       "Memory for the recent past of what expressions ask for. Above it the selector that nobody "
       "asked for the longest is dropped.",
       Bytes(&Config::series_memory_bytes, 1 << 20, int64_t{64} << 30)},
      {kSeries, "keep", "ACTIVESCALE_KEEP", Setting::kList, "",
       "Selectors such as inbound_active_requests{namespace=\"shop\"} that are recorded always, "
       "not only while somebody asks.",
       AssignKeep},
      {kSeries, "data-dir", "ACTIVESCALE_DATA_DIR", "folder", "",
       "Where the history of what keep selects is, so that a restart loses no window. Empty: in "
       "memory alone.",
       Text(&Config::data_dir)},
      {kSeries, "retention", "ACTIVESCALE_RETENTION", "duration", "360h",
       "Age at which the history in data-dir is forgotten.",
       Duration(&Config::retention, hours(2), hours(24 * 366))},
      {kSeries, "watch-hpas", "ACTIVESCALE_WATCH_HPAS", Setting::kSwitch, "false",
       "Watch HorizontalPodAutoscalers and Deployments, as series under the names of "
       "kube-state-metrics and as activescale_hpa_at_max_seconds. Needs the right to list and "
       "watch them.",
       Switch(&Config::watch_hpas)},
  };
}

std::vector<std::string> SignalFaults(const Config& config) {
  std::vector<std::string> faults;
  CheckKeda(config, faults);
  CheckHttp(config, faults);
  if (const auto parsed = ParseSelectors(config.keep); !parsed) {
    faults.push_back("keep: " + parsed.error().message);
  }
  if (!config.data_dir.empty() && config.keep.empty()) {
    faults.emplace_back("data-dir is given without keep: nothing would be in the history");
  }
  if (config.watch_hpas && !ExpectsCluster(config)) {
    faults.emplace_back("watch-hpas needs a cluster to watch: give --kubeconfig");
  }
  return faults;
}

}  // namespace activescale::app
