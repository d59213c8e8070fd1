#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "metric/labels.h"
#include "metric/selector.h"
#include "net/http_client.h"
#include "source/scraped_target.h"

namespace activescale::source {

/// Addresses that the configuration names.
struct StaticTargets {
  std::vector<std::string> addresses;  // host:port
  metric::Labels labels;
};

/// What a cluster is asked for: the pods that a selector means, or the endpoints in the slices that
/// it means, each at one port.
struct ClusterTargets {
  enum class Kind : uint8_t { kPods, kEndpoints };
  Kind kind = Kind::kPods;
  std::string ns;
  metric::Selector selector;
  std::string port;          // of endpoints a name or a number
  uint16_t port_number = 0;  // 0: it is a name
};

/// Targets that are scraped alike.
struct ScrapeJob {
  std::string name;
  std::chrono::milliseconds interval{0};
  std::chrono::milliseconds timeout{0};  // at most the interval
  std::string scheme;
  std::string path;
  std::string bearer_token_file;
  std::shared_ptr<const net::ClientTls> tls;  // null: the system's authorities
  size_t max_body_bytes = 0;                  // without compression
  ScrapeRules rules;
  std::vector<StaticTargets> targets;
  std::vector<ClusterTargets> cluster;

  /// Whether both scrape a target in the same way, whatever targets they have.
  [[nodiscard]] bool ScrapesAs(const ScrapeJob& other) const;
};

/// Reads a part of Prometheus's configuration, so that a job can be copied from there, and
/// `kubernetes_pods` and `kubernetes_endpoints`, which are ours:
///
///     global: {scrape_interval: 5s, scrape_timeout: 3s}
///     scrape_configs:
///     - job_name: loki
///       metrics_path: /metrics
///       scheme: https
///       tls_config: {ca_file: ca.crt}
///       authorization: {credentials_file: token}
///       body_size_limit: 16Mi
///       static_configs:
///       - {targets: ["10.0.0.7:3100"], labels: {namespace: loki}}
///       kubernetes_pods:
///       - {namespace: loki, selector: app=query-scheduler, port: 3100}
///       kubernetes_endpoints:
///       - {namespace: loki, service: query-scheduler, port: http-metrics}
///       - {namespace: loki, selector: app=loki, port: 3100}
///
/// Errors: kInvalidArgument: the line and what is wrong with it; a key that is not known is one.
[[nodiscard]] base::Result<std::vector<ScrapeJob>> ParseScrapeConfig(std::string_view yaml);

}  // namespace activescale::source
