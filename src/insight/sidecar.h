#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "base/error.h"

namespace activescale::insight {

/// Envoy's stats_flush_interval where its bootstrap names none.
/// Source: envoyproxy/envoy:api/envoy/config/bootstrap/v3/bootstrap.proto.
inline constexpr std::chrono::seconds kDefaultFlush{5};

/// Which stats an Envoy keeps, as Istio or a bootstrap names them. Only what is kept is pushed.
struct StatPatterns {
  std::vector<std::string> prefixes;
  std::vector<std::string> suffixes;
  std::vector<std::string> regexps;  // of the whole name, RE2

  [[nodiscard]] bool empty() const {
    return prefixes.empty() && suffixes.empty() && regexps.empty();
  }
  /// Whether one of them takes a stat of this name. An unusable expression takes none.
  [[nodiscard]] bool Take(std::string_view name) const;
};

/// What a ProxyConfig of Istio says that matters here.
/// Source: istio/api:mesh/v1alpha1/proxy.proto, annotation/annotations.yaml.
struct ProxySettings {
  std::string sink;  // envoyMetricsService.address; empty: Envoy does not push
  StatPatterns stats;
};

/// Reads a ProxyConfig in YAML or JSON: the annotation proxy.istio.io/config, MeshConfig's
/// defaultConfig, PROXY_CONFIG of a sidecar. Errors: kInvalidArgument, it does not parse.
[[nodiscard]] base::Result<ProxySettings> ReadProxyConfig(const std::string& text);
/// The same of the member defaultConfig of a MeshConfig.
[[nodiscard]] base::Result<ProxySettings> ReadMeshConfig(const std::string& text);

/// The sidecar of one pod.
struct Sidecar {
  bool present = false;
  /// What it was started with: PROXY_CONFIG, and the annotations for stats, which add to it.
  ProxySettings settings;
  std::optional<std::chrono::nanoseconds> flush_interval;  // by annotation; else Envoy's 5 s
};

/// Reads spec and annotations of a pod.
[[nodiscard]] Sidecar ReadSidecar(const boost::json::object& pod);

/// What the annotations of a pod template ask for.
[[nodiscard]] ProxySettings ReadTemplate(const boost::json::object& pod_template);

/// A stat that stands for a metric, as Envoy in a mesh names it; "" for an unknown metric.
[[nodiscard]] std::string_view SampleStat(std::string_view metric);

}  // namespace activescale::insight
