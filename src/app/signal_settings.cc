#include "app/signal_settings.h"

#include <fmt/format.h>

#include "app/setting_values.h"

namespace activescale::app {
namespace {

constexpr std::string_view kSignals = "Signals";
constexpr std::string_view kKeda = "KEDA external scaler";

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
       "ScaledObject it belongs to.",
       Switch(&Config::tenant_queries)},
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
  };
}

std::vector<std::string> SignalFaults(const Config& config) {
  std::vector<std::string> faults;
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
  return faults;
}

}  // namespace activescale::app
