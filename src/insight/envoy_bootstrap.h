#pragma once

#include <chrono>
#include <string>

#include "insight/finding.h"

namespace activescale::insight {

/// Finds what an Envoy bootstrap lacks to push to us: the sink, its HTTP/2 cluster, the identity of
/// the pod, the stats, the flush interval against `ttl`. YAML or JSON, with proto or JSON names of
/// the members, also as `istioctl proxy-config bootstrap -o json` writes it. Pure.
/// Source: envoyproxy/envoy:api/envoy/config/{bootstrap,metrics}/v3.
[[nodiscard]] Findings CheckEnvoyBootstrap(const std::string& text, std::chrono::nanoseconds ttl);

}  // namespace activescale::insight
