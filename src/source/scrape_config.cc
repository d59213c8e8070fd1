// yaml-cpp throws; nothing of it leaves this file.
#include "source/scrape_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/duration.h"
#include "metric/quantity.h"

namespace activescale::source {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kInterval{5'000};
constexpr milliseconds kLeastInterval{100};
constexpr size_t kMaxBodyBytes = size_t{16} << 20;
constexpr int64_t kMostBodyBytes = int64_t{1} << 30;
// Source: kubernetes/api:discovery/v1/well_known_labels.go.
const std::string kServiceLabel = "kubernetes.io/service-name=";

/// Why a node is refused; caught in this file.
struct Refusal {
  std::string message;
};

[[noreturn]] void Refuse(const YAML::Node& at, std::string_view why) {
  throw Refusal{fmt::format("line {}: {}", at.Mark().line + 1, why)};
}

/// A mapping of which every key is known.
void CheckKeys(const YAML::Node& node, std::string_view what,
               std::initializer_list<std::string_view> known) {
  if (!node.IsMap()) Refuse(node, fmt::format("{} is no mapping", what));
  for (const auto& entry : node) {
    const auto& key = entry.first.Scalar();
    if (std::ranges::find(known, key) == known.end()) {
      Refuse(entry.first,
             fmt::format("{} is not known in {}; there are {}", key, what, fmt::join(known, ", ")));
    }
  }
}

std::string Text(const YAML::Node& node, std::string_view key, std::string_view fallback = "") {
  const YAML::Node value = node[std::string(key)];
  if (!value) return std::string(fallback);
  if (!value.IsScalar()) Refuse(value, fmt::format("{} is no text", key));
  return value.Scalar();
}

bool Flag(const YAML::Node& node, std::string_view key, bool fallback) {
  const std::string text = Text(node, key, fallback ? "true" : "false");
  if (text != "true" && text != "false") {
    Refuse(node[std::string(key)], fmt::format("{} is neither true nor false", key));
  }
  return text == "true";
}

milliseconds Duration(const YAML::Node& node, std::string_view key, milliseconds fallback) {
  const YAML::Node value = node[std::string(key)];
  if (!value) return fallback;
  const auto parsed = base::ParseDuration(Text(node, key));
  if (!parsed) Refuse(value, fmt::format("{}: {}", key, parsed.error().message));
  const auto rounded = std::chrono::duration_cast<milliseconds>(*parsed);
  if (rounded < kLeastInterval) {
    Refuse(value, fmt::format("{} is less than {} ms", key, kLeastInterval.count()));
  }
  return rounded;
}

size_t BodyLimit(const YAML::Node& job) {
  std::string text = Text(job, "body_size_limit");
  if (text.empty()) return kMaxBodyBytes;
  if (text.ends_with('B')) text.pop_back();
  const auto quantity = metric::Quantity::Parse(text);
  const int64_t bytes = quantity ? quantity->milli() / 1000 : 0;
  if (bytes < 1 || bytes > kMostBodyBytes) {
    Refuse(job["body_size_limit"], "body_size_limit is no number of bytes such as 16Mi");
  }
  return static_cast<size_t>(bytes);
}

std::shared_ptr<const net::ClientTls> ReadTls(const YAML::Node& node) {
  if (!node) return nullptr;
  CheckKeys(node, "tls_config",
            {"ca_file", "cert_file", "key_file", "server_name", "insecure_skip_verify"});
  return std::make_shared<const net::ClientTls>(
      net::ClientTls{.ca_file = Text(node, "ca_file"),
                     .cert_file = Text(node, "cert_file"),
                     .key_file = Text(node, "key_file"),
                     .server_name = Text(node, "server_name"),
                     .insecure_skip_verify = Flag(node, "insecure_skip_verify", false)});
}

std::string ReadTokenFile(const YAML::Node& job) {
  const YAML::Node authorization = job["authorization"];
  if (!authorization) return Text(job, "bearer_token_file");
  CheckKeys(authorization, "authorization", {"type", "credentials_file"});
  if (Text(authorization, "type", "Bearer") != "Bearer") {
    Refuse(authorization, "only the type Bearer is known");
  }
  return Text(authorization, "credentials_file");
}

StaticTargets ReadStatic(const YAML::Node& node) {
  CheckKeys(node, "static_configs", {"targets", "labels"});
  StaticTargets targets;
  for (const YAML::Node& address : node["targets"]) {
    if (!address.IsScalar() || address.Scalar().find('/') != std::string::npos ||
        address.Scalar().find(':') == std::string::npos) {
      Refuse(address, "a target is HOST:PORT");
    }
    targets.addresses.push_back(address.Scalar());
  }
  std::vector<metric::Labels::Entry> labels;
  for (const auto& label : node["labels"]) {
    if (!label.second.IsScalar()) Refuse(label.second, "the value of a label is no text");
    labels.emplace_back(label.first.Scalar(), label.second.Scalar());
  }
  targets.labels = metric::Labels(std::move(labels));
  return targets;
}

/// What all that a cluster is asked for has, under the key `what`.
ClusterTargets ReadCluster(const YAML::Node& node, std::string_view what,
                           const std::string& selector) {
  ClusterTargets targets{.ns = Text(node, "namespace"), .selector = {}, .port = Text(node, "port")};
  if (targets.ns.empty()) Refuse(node, fmt::format("{} needs a namespace", what));
  auto parsed = metric::Selector::Parse(selector);
  if (!parsed) Refuse(node, parsed.error().message);
  targets.selector = *std::move(parsed);
  if (targets.port.empty()) Refuse(node, fmt::format("{} needs a port", what));
  const bool number = YAML::convert<uint16_t>::decode(node["port"], targets.port_number);
  if (number && targets.port_number == 0) Refuse(node, "there is no port 0");
  return targets;
}

ClusterTargets ReadPods(const YAML::Node& node) {
  constexpr std::string_view kWhat = "kubernetes_pods";
  CheckKeys(node, kWhat, {"namespace", "selector", "port"});
  ClusterTargets pods = ReadCluster(node, kWhat, Text(node, "selector"));
  if (pods.port_number == 0) Refuse(node, "the port of kubernetes_pods is a number");
  return pods;
}

ClusterTargets ReadEndpoints(const YAML::Node& node) {
  constexpr std::string_view kWhat = "kubernetes_endpoints";
  CheckKeys(node, kWhat, {"namespace", "service", "selector", "port"});
  const std::string service = Text(node, "service");
  const std::string selector = Text(node, "selector");
  if (service.empty() == selector.empty()) {
    Refuse(node, "kubernetes_endpoints needs either service, a name, or selector, its labels");
  }
  ClusterTargets endpoints =
      ReadCluster(node, kWhat, service.empty() ? selector : kServiceLabel + service);
  endpoints.kind = ClusterTargets::Kind::kEndpoints;
  return endpoints;
}

ScrapeJob ReadJob(const YAML::Node& node, const YAML::Node& global) {
  CheckKeys(node, "a job of scrape_configs",
            {"job_name", "scrape_interval", "scrape_timeout", "metrics_path", "scheme",
             "authorization", "bearer_token_file", "tls_config", "body_size_limit", "honor_labels",
             "honor_timestamps", "static_configs", "kubernetes_pods", "kubernetes_endpoints"});
  ScrapeJob job{.name = Text(node, "job_name")};
  if (job.name.empty()) Refuse(node, "a job has no job_name");
  job.interval = Duration(node, "scrape_interval", Duration(global, "scrape_interval", kInterval));
  job.timeout = Duration(node, "scrape_timeout", Duration(global, "scrape_timeout", job.interval));
  if (job.timeout > job.interval) {
    if (node["scrape_timeout"]) Refuse(node, "scrape_timeout is longer than scrape_interval");
    job.timeout = job.interval;
  }
  job.scheme = Text(node, "scheme", "http");
  if (job.scheme != "http" && job.scheme != "https") Refuse(node, "scheme is http or https");
  job.path = Text(node, "metrics_path", "/metrics");
  if (!job.path.starts_with('/')) Refuse(node, "metrics_path begins with no slash");
  job.bearer_token_file = ReadTokenFile(node);
  job.tls = ReadTls(node["tls_config"]);
  job.max_body_bytes = BodyLimit(node);
  job.rules = {.honor_labels = Flag(node, "honor_labels", false),
               .honor_timestamps = Flag(node, "honor_timestamps", true)};
  for (const YAML::Node& targets : node["static_configs"]) {
    job.targets.push_back(ReadStatic(targets));
  }
  for (const YAML::Node& pods : node["kubernetes_pods"]) job.cluster.push_back(ReadPods(pods));
  for (const YAML::Node& endpoints : node["kubernetes_endpoints"]) {
    job.cluster.push_back(ReadEndpoints(endpoints));
  }
  return job;
}

}  // namespace

bool ScrapeJob::ScrapesAs(const ScrapeJob& other) const {
  const auto how = [](const ScrapeJob& job) {
    return std::tie(job.name, job.interval, job.timeout, job.scheme, job.path,
                    job.bearer_token_file, job.max_body_bytes, job.rules);
  };
  const bool same_tls = tls && other.tls ? *tls == *other.tls : tls == other.tls;
  return how(*this) == how(other) && same_tls;
}

base::Result<std::vector<ScrapeJob>> ParseScrapeConfig(std::string_view yaml) {
  try {
    const YAML::Node root = YAML::Load(std::string(yaml));
    CheckKeys(root, "the scrape configuration", {"global", "scrape_configs"});
    const YAML::Node global = root["global"] ? root["global"] : YAML::Node(YAML::NodeType::Map);
    CheckKeys(global, "global", {"scrape_interval", "scrape_timeout"});
    std::vector<ScrapeJob> jobs;
    std::set<std::string> names;
    for (const YAML::Node& node : root["scrape_configs"]) {
      jobs.push_back(ReadJob(node, global));
      if (!names.insert(jobs.back().name).second) {
        Refuse(node, fmt::format("there are two jobs of the name {}", jobs.back().name));
      }
    }
    return jobs;
  } catch (const Refusal& refusal) {
    return base::Fail(base::Code::kInvalidArgument, refusal.message);
  } catch (const YAML::Exception& error) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("line {}: {}", error.mark.line + 1, error.msg));
  }
}

}  // namespace activescale::source
