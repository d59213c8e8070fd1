#include "insight/sidecar.h"

#include <fmt/format.h>
#include <re2/re2.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <utility>

#include <boost/json/object.hpp>

#include "base/duration.h"
#include "kube/json.h"

// yaml-cpp throws; nothing of it leaves this file.

namespace activescale::insight {
namespace {

namespace json = boost::json;
using kube::FindObjects;
using kube::FindString;

std::vector<std::string> Texts(const YAML::Node& list) {
  std::vector<std::string> out;
  if (!list || !list.IsSequence()) return out;
  for (const YAML::Node& each : list) {
    if (each.IsScalar()) out.push_back(each.Scalar());
  }
  return out;
}

YAML::Node Member(const YAML::Node& node, const char* key) {
  return node && node.IsMap() ? node[key] : YAML::Node(YAML::NodeType::Undefined);
}

ProxySettings ReadNode(const YAML::Node& config) {
  ProxySettings out;
  const YAML::Node address = Member(Member(config, "envoyMetricsService"), "address");
  if (address && address.IsScalar()) out.sink = address.Scalar();
  const YAML::Node matcher = Member(config, "proxyStatsMatcher");
  out.stats = {.prefixes = Texts(Member(matcher, "inclusionPrefixes")),
               .suffixes = Texts(Member(matcher, "inclusionSuffixes")),
               .regexps = Texts(Member(matcher, "inclusionRegexps"))};
  return out;
}

/// The config itself, or one member of it.
base::Result<ProxySettings> Read(const std::string& text, const char* member) {
  try {
    const YAML::Node root = YAML::Load(text);
    return ReadNode(member == nullptr ? root : Member(root, member));
  } catch (const YAML::Exception& error) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("is not YAML: {} (line {})", error.msg, error.mark.line + 1));
  }
}

std::string_view Annotation(const json::object& pod, std::string_view name) {
  return FindString(pod, {"metadata", "annotations", name});
}

/// "a,b" of an annotation, added to `out`.
void Split(std::string_view list, std::vector<std::string>& out) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) out.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

/// The deprecated annotations for single stats.
void AddAnnotations(const json::object& pod, StatPatterns& stats) {
  Split(Annotation(pod, "sidecar.istio.io/statsInclusionPrefixes"), stats.prefixes);
  Split(Annotation(pod, "sidecar.istio.io/statsInclusionSuffixes"), stats.suffixes);
  Split(Annotation(pod, "sidecar.istio.io/statsInclusionRegexps"), stats.regexps);
}

/// The container istio-proxy, which may be an init container that keeps running; null if none.
const json::object* ProxyContainer(const json::object& pod) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (const json::object* container : FindObjects(pod, {"spec", list})) {
      if (FindString(*container, {"name"}) == "istio-proxy") return container;
    }
  }
  return nullptr;
}

std::string_view Variable(const json::object& container, std::string_view name) {
  for (const json::object* entry : FindObjects(container, {"env"})) {
    if (FindString(*entry, {"name"}) == name) return FindString(*entry, {"value"});
  }
  return {};
}

}  // namespace

bool StatPatterns::Take(std::string_view name) const {
  const auto starts = [&](const std::string& prefix) { return name.starts_with(prefix); };
  const auto ends = [&](const std::string& suffix) { return name.ends_with(suffix); };
  const auto matches = [&](const std::string& expression) {
    RE2::Options quiet;
    quiet.set_log_errors(false);
    const RE2 compiled(expression, quiet);
    return compiled.ok() && RE2::FullMatch(name, compiled);
  };
  return std::ranges::any_of(prefixes, starts) || std::ranges::any_of(suffixes, ends) ||
         std::ranges::any_of(regexps, matches);
}

base::Result<ProxySettings> ReadProxyConfig(const std::string& text) { return Read(text, nullptr); }

base::Result<ProxySettings> ReadMeshConfig(const std::string& text) {
  return Read(text, "defaultConfig");
}

Sidecar ReadSidecar(const json::object& pod) {
  Sidecar out;
  const json::object* container = ProxyContainer(pod);
  if (container == nullptr) return out;
  out.present = true;
  // Of a broken one Istio takes nothing either.
  out.settings =
      ReadProxyConfig(std::string(Variable(*container, "PROXY_CONFIG"))).value_or(ProxySettings());
  AddAnnotations(pod, out.settings.stats);
  const std::string interval(Annotation(pod, "sidecar.istio.io/statsFlushInterval"));
  if (const auto parsed = base::ParseDuration(interval)) out.flush_interval = *parsed;
  return out;
}

ProxySettings ReadTemplate(const json::object& pod_template) {
  const std::string config(Annotation(pod_template, "proxy.istio.io/config"));
  ProxySettings out = ReadProxyConfig(config).value_or(ProxySettings());
  AddAnnotations(pod_template, out.stats);
  return out;
}

std::string_view SampleStat(std::string_view metric) {
  if (metric == "inbound_active_requests") {
    return "http.inbound_0.0.0.0_8080;.downstream_rq_active";
  }
  if (metric == "outbound_active_requests") {
    return "http.outbound_0.0.0.0_8080;.downstream_rq_active";
  }
  if (metric == "active_connections") return "listener.0.0.0.0_8080.downstream_cx_active";
  return {};
}

}  // namespace activescale::insight
