#include "insight/envoy_bootstrap.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "insight/sidecar.h"

// yaml-cpp throws; nothing of it leaves this file.

namespace activescale::insight {
namespace {

constexpr std::string_view kSinkName = "envoy.stat_sinks.metrics_service";
constexpr std::string_view kSinkType = "MetricsServiceConfig";
constexpr const char* kHttpOptions = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

YAML::Node Nothing() { return YAML::Node(YAML::NodeType::Undefined); }

/// A member by its proto name, or by the JSON name that goes with it: stats_sinks, statsSinks.
YAML::Node Get(const YAML::Node& node, const std::string& name) {
  if (!node || !node.IsMap()) return Nothing();
  if (YAML::Node found = node[name]) return found;
  std::string camel;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool joint = name[i] == '_' && i + 1 < name.size();
    if (joint) ++i;
    camel.push_back(joint ? static_cast<char>(std::toupper(name[i])) : name[i]);
  }
  const YAML::Node found = node[camel];
  return found ? found : Nothing();
}

YAML::Node Get(YAML::Node node, std::initializer_list<const char*> path) {
  for (const char* name : path) node.reset(Get(node, std::string(name)));
  return node;
}

std::string Text(const YAML::Node& node) {
  return node && node.IsScalar() ? node.Scalar() : std::string();
}

std::vector<YAML::Node> Items(const YAML::Node& list) {
  std::vector<YAML::Node> out;
  if (list && list.IsSequence()) {
    for (const YAML::Node& each : list) out.push_back(each);
  }
  return out;
}

/// Finds every stat prefix of an HTTP connection manager. Aliases can make a document endless, so
/// its depth and the nodes that are looked at are limited far above those of a real one.
class PrefixSearch {
 public:
  void Collect(const YAML::Node& node, int depth = 0) {
    if (!node || depth > kMostDepth || --budget_ < 0) return;
    if (node.IsMap()) {
      if (Text(node["@type"]).ends_with("HttpConnectionManager")) {
        found_.push_back(Text(Get(node, "stat_prefix")));
      }
      for (const auto& member : node) Collect(member.second, depth + 1);
    } else if (node.IsSequence()) {
      for (const YAML::Node& each : node) Collect(each, depth + 1);
    }
  }
  std::vector<std::string> Take() && { return std::move(found_); }

 private:
  static constexpr int kMostDepth = 100;

  int budget_ = 1'000'000;
  std::vector<std::string> found_;
};

StatPatterns ReadPatterns(const YAML::Node& list) {
  StatPatterns out;
  for (const YAML::Node& each : Items(Get(list, "patterns"))) {
    const auto add = [&](const char* kind, std::vector<std::string>& to) {
      if (std::string text = Text(Get(each, kind)); !text.empty()) to.push_back(std::move(text));
    };
    add("prefix", out.prefixes);
    add("suffix", out.suffixes);
    if (std::string regex = Text(Get(each, {"safe_regex", "regex"})); !regex.empty()) {
      out.regexps.push_back(std::move(regex));
    }
    if (const std::string exact = Text(Get(each, "exact")); !exact.empty()) {
      out.regexps.push_back("\\Q" + exact + "\\E");
    }
    if (const std::string part = Text(Get(each, "contains")); !part.empty()) {
      out.regexps.push_back(".*\\Q" + part + "\\E.*");
    }
  }
  return out;
}

class BootstrapCheck {
 public:
  BootstrapCheck(const YAML::Node& root, std::chrono::nanoseconds ttl) : root_(root), ttl_(ttl) {}

  Findings Run() {
    CheckSink();
    CheckNode();
    CheckPrefixes();
    CheckMatcher();
    CheckFlush();
    return std::move(findings_);
  }

 private:
  void Ok(std::string check, std::string message) {
    findings_.push_back({Level::kOk, std::move(check), std::move(message), {}});
  }
  void Warn(std::string check, std::string message, std::string advice) {
    findings_.push_back({Level::kWarning, std::move(check), std::move(message), std::move(advice)});
  }
  void Fail(std::string check, std::string message, std::string advice) {
    findings_.push_back({Level::kFailure, std::move(check), std::move(message), std::move(advice)});
  }

  void CheckSink();
  void CheckCluster(const std::string& name);
  void CheckNode();
  void CheckPrefixes();
  void CheckMatcher();
  void CheckFlush();

  const YAML::Node root_;
  const std::chrono::nanoseconds ttl_;
  std::vector<std::string> prefixes_;  // of HTTP connection managers
  Findings findings_;
};

void BootstrapCheck::CheckSink() {
  YAML::Node config = Nothing();
  for (const YAML::Node& sink : Items(Get(root_, "stats_sinks"))) {
    const YAML::Node typed = Get(sink, "typed_config");
    const bool ours = Text(Get(sink, "name")) == kSinkName ||
                      (typed && typed.IsMap() && Text(typed["@type"]).ends_with(kSinkType));
    if (ours) config.reset(typed);
  }
  if (!config) {
    return Fail("stats_sinks", fmt::format("there is no {}, so Envoy pushes nothing", kSinkName),
                "add the sink as in deploy/envoy/bootstrap.yaml");
  }
  const std::string version = Text(Get(config, "transport_api_version"));
  if (version != "V3") {
    Fail(
        "stats_sinks",
        fmt::format("transport_api_version is {}, which Envoy refuses or pushes by a protocol that "
                    "is not served",
                    version.empty() ? "not set" : version),
        "set transport_api_version: V3");
  }
  if (!Text(Get(config, {"grpc_service", "google_grpc", "target_uri"})).empty()) {
    return Ok("stats_sinks", "pushes by google_grpc");
  }
  const std::string cluster = Text(Get(config, {"grpc_service", "envoy_grpc", "cluster_name"}));
  if (cluster.empty()) {
    return Fail("stats_sinks", "the metrics service has no grpc_service.envoy_grpc.cluster_name",
                "name the cluster that leads to activescale");
  }
  CheckCluster(cluster);
}

void BootstrapCheck::CheckCluster(const std::string& name) {
  YAML::Node cluster = Nothing();
  for (const YAML::Node& each : Items(Get(root_, {"static_resources", "clusters"}))) {
    if (Text(Get(each, "name")) == name) cluster.reset(each);
  }
  const std::string check = fmt::format("cluster {}", name);
  if (!cluster) {
    return Fail(check, "the sink names it and static_resources.clusters does not have it",
                "add it; a cluster of a sink must be static");
  }
  const YAML::Node http2 = Get(cluster, {"typed_extension_protocol_options", kHttpOptions,
                                         "explicit_http_config", "http2_protocol_options"});
  // The member of the cluster itself is deprecated and still works.
  if (!http2 && !Get(cluster, "http2_protocol_options")) {
    return Fail(check, "it speaks HTTP/1.1, and gRPC needs HTTP/2",
                "set explicit_http_config.http2_protocol_options in its HttpProtocolOptions");
  }
  std::vector<std::string> addresses;
  for (const YAML::Node& locality : Items(Get(cluster, {"load_assignment", "endpoints"}))) {
    for (const YAML::Node& endpoint : Items(Get(locality, "lb_endpoints"))) {
      const YAML::Node at = Get(endpoint, {"endpoint", "address", "socket_address"});
      addresses.push_back(
          fmt::format("{}:{}", Text(Get(at, "address")), Text(Get(at, "port_value"))));
    }
  }
  if (addresses.empty()) {
    return Fail(check, "it has no endpoints", "give it activescale's address in load_assignment");
  }
  Ok(check, fmt::format("pushes by HTTP/2 to {}", fmt::join(addresses, ", ")));
}

/// "sidecar~10.0.0.1~pod.namespace~domain"
bool IsMeshId(std::string_view id) {
  const bool parts = std::ranges::count(id, '~') == 3;
  const size_t pod = id.find('~', id.find('~') + 1);
  return parts && id.find('.', pod) < id.rfind('~');
}

void BootstrapCheck::CheckNode() {
  const YAML::Node node = Get(root_, "node");
  const std::string name = Text(Get(node, {"metadata", "NAME"}));
  const std::string ns = Text(Get(node, {"metadata", "NAMESPACE"}));
  const std::string id = Text(Get(node, "id"));
  if ((name.empty() || ns.empty()) && !IsMeshId(id)) {
    return Fail("node",
                fmt::format("nothing tells the pod: metadata.{} is missing and node.id is not in "
                            "Istio's form",
                            name.empty() ? "NAME" : "NAMESPACE"),
                "set node.metadata.NAME and NAMESPACE, or give them by --config-yaml");
  }
  if (name.starts_with("$") || ns.starts_with("$")) {
    return Warn("node",
                fmt::format("the pod's name is \"{}\", and Envoy expands no variables", name),
                "render the file before Envoy reads it, or give the node by --config-yaml");
  }
  Ok("node",
     name.empty() ? fmt::format("pod by node.id {}", id) : fmt::format("pod {}/{}", ns, name));
}

void BootstrapCheck::CheckPrefixes() {
  PrefixSearch search;
  search.Collect(Get(root_, {"static_resources", "listeners"}));
  prefixes_ = std::move(search).Take();
  std::vector<std::string> others;
  for (const std::string& prefix : prefixes_) {
    if (!prefix.starts_with("inbound_") && !prefix.starts_with("outbound_")) {
      others.push_back(prefix);
    }
  }
  if (others.empty()) return;
  Warn("stat_prefix",
       fmt::format("{} does not count as inbound or outbound by default", fmt::join(others, ", ")),
       fmt::format("name it inbound_..., or start activescale with --inbound-stat-prefixes={}",
                   fmt::join(others, ",")));
}

void BootstrapCheck::CheckMatcher() {
  const YAML::Node matcher = Get(root_, {"stats_config", "stats_matcher"});
  const std::string advice =
      "include http\\.(inbound|outbound)_.*downstream_rq_active and "
      "listener\\..*\\.downstream_cx_active";
  if (Text(Get(matcher, "reject_all")) == "true") {
    return Fail("stats_matcher", "reject_all: Envoy keeps no stats at all", advice);
  }
  const YAML::Node inclusion = Get(matcher, "inclusion_list");
  const YAML::Node exclusion = Get(matcher, "exclusion_list");
  const StatPatterns included = ReadPatterns(inclusion);
  const StatPatterns excluded = ReadPatterns(exclusion);
  const auto kept = [&](const std::string& name) {
    if (inclusion) return included.Take(name);
    return !excluded.Take(name);
  };
  const bool known = !prefixes_.empty();
  const std::string request = known ? fmt::format("http.{}.downstream_rq_active", prefixes_.front())
                                    : std::string(SampleStat("inbound_active_requests"));
  const std::string connection(SampleStat("active_connections"));
  if (!kept(request)) {
    return Fail("stats_matcher",
                fmt::format("Envoy does not keep {}: requests would be served as 0", request),
                advice);
  }
  if (!kept(connection)) {
    return Warn(
        "stats_matcher",
        fmt::format("Envoy does not keep {}: active_connections would be served as 0", connection),
        advice);
  }
  Ok("stats_matcher", "the needed stats are kept");
}

void BootstrapCheck::CheckFlush() {
  const std::string check = "stats_flush_interval";
  if (Text(Get(root_, "stats_flush_on_admin")) == "true") {
    return Fail(check, "stats_flush_on_admin: Envoy flushes only when its admin page is read",
                "remove it and set stats_flush_interval");
  }
  const std::string text = Text(Get(root_, "stats_flush_interval"));
  const auto given = base::ParseDuration(text);
  if (!text.empty() && !given) {
    return Fail(check, fmt::format("\"{}\" is no duration", text), "write it as 5s");
  }
  const std::chrono::nanoseconds interval = given.value_or(kDefaultFlush);
  const std::string both = fmt::format("Envoy flushes each {}, and the TTL is {}",
                                       base::FormatDuration(interval), base::FormatDuration(ttl_));
  if (3 * interval > ttl_) {
    return Fail(check, both + ", below three flush intervals: one late flush makes the pod missing",
                fmt::format("flush each {} or start activescale with --ttl={}",
                            base::FormatDuration(ttl_ / 3), base::FormatDuration(3 * interval)));
  }
  Ok(check, both);
}

}  // namespace

Findings CheckEnvoyBootstrap(const std::string& text, std::chrono::nanoseconds ttl) {
  try {
    YAML::Node root = YAML::Load(text);
    if (YAML::Node wrapped = Get(root, "bootstrap")) root.reset(wrapped);
    if (!root.IsMap()) {
      return {{Level::kFailure, "bootstrap", "it is not a YAML or JSON object",
               "give the file that Envoy is started with"}};
    }
    return BootstrapCheck(root, ttl).Run();
  } catch (const YAML::Exception& error) {
    return {{Level::kFailure, "bootstrap",
             fmt::format("it does not parse: {} (line {})", error.msg, error.mark.line + 1),
             "mend the file"}};
  }
}

}  // namespace activescale::insight
