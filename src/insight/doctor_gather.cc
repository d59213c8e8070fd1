#include "insight/doctor_gather.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/duration.h"
#include "insight/doctor.h"
#include "kube/json.h"
#include "kube/pod.h"

namespace activescale::insight {
namespace {

namespace json = boost::json;
using kube::FindArray;
using kube::FindObject;
using kube::FindObjects;
using kube::FindString;
using kube::FindValue;
using kube::QueryEscape;

constexpr size_t kMostReplicas = 10;  // that are asked for their health
constexpr int kHealthPort = 18080;

bool IsTrue(const json::object& object, std::initializer_list<std::string_view> path) {
  const json::value* value = FindValue(object, path);
  return value != nullptr && value->is_bool() && value->get_bool();
}

/// The condition of that type; null if there is none.
const json::object* FindCondition(const json::object& object, std::string_view type) {
  for (const json::object* condition : FindObjects(object, {"status", "conditions"})) {
    if (FindString(*condition, {"type"}) == type) return condition;
  }
  return nullptr;
}

base::Result<ApiService> GatherApiService(const ClusterReader& reader, const std::string& name) {
  const auto found = reader.get("/apis/apiregistration.k8s.io/v1/apiservices/" + name);
  if (!found) return std::unexpected(found.error().error);
  ApiService out{.owner = fmt::format("{}/{}", FindString(*found, {"spec", "service", "namespace"}),
                                      FindString(*found, {"spec", "service", "name"})),
                 .has_ca = !FindString(*found, {"spec", "caBundle"}).empty(),
                 .insecure = IsTrue(*found, {"spec", "insecureSkipTLSVerify"}),
                 .reason = "Unknown",
                 .message = "the aggregator has not looked at it yet"};
  if (const json::object* condition = FindCondition(*found, "Available")) {
    out.available = FindString(*condition, {"status"}) == "True";
    out.reason = FindString(*condition, {"reason"});
    out.message = FindString(*condition, {"message"});
  }
  return out;
}

/// The container that runs us: the one of our name, else the first.
const json::object* OurContainer(const json::object& pod) {
  const auto containers = FindObjects(pod, {"spec", "containers"});
  for (const json::object* each : containers) {
    if (FindString(*each, {"name"}) == "activescale") return each;
  }
  return containers.empty() ? nullptr : containers.front();
}

/// The value of a flag in the form --name=value or --name value; "" if it is not given.
std::string_view Flag(const json::object& container, std::string_view name) {
  std::string_view last;
  bool next = false;
  const json::array* args = FindArray(container, {"args"});
  if (args == nullptr) return {};
  for (const json::value& value : *args) {
    if (!value.is_string()) continue;
    std::string_view text(value.get_string());
    if (std::exchange(next, false)) {
      last = text;
      continue;
    }
    text.remove_prefix(std::min(text.find_first_not_of('-'), text.size()));
    if (!text.starts_with(name)) continue;
    text.remove_prefix(name.size());
    if (text.starts_with('=')) last = text.substr(1);
    next = text.empty();
  }
  return last;
}

/// Whether the variable is set, be it from elsewhere, and its value where it can be seen.
std::pair<bool, std::string_view> Variable(const json::object& container, std::string_view name) {
  for (const json::object* entry : FindObjects(container, {"env"})) {
    if (FindString(*entry, {"name"}) != name) continue;
    const std::string_view value = FindString(*entry, {"value"});
    return {!value.empty() || FindObject(*entry, {"valueFrom"}) != nullptr, value};
  }
  return {false, {}};
}

std::string_view Setting(const json::object& container, std::string_view flag,
                         std::string_view variable) {
  const std::string_view by_flag = Flag(container, flag);
  return by_flag.empty() ? Variable(container, variable).second : by_flag;
}

bool Switch(const json::object& container, const std::string& flag, std::string_view variable) {
  if (const json::array* args = FindArray(container, {"args"})) {
    for (const json::value& value : *args) {
      const bool on = value.is_string() && (value.get_string() == "--" + flag ||
                                            value.get_string() == "--" + flag + "=true");
      if (on) return true;
    }
  }
  return Variable(container, variable).second == "true";
}

ReplicaSettings ReadSettings(const json::object& pod) {
  ReplicaSettings out;
  const std::string_view account = FindString(pod, {"spec", "serviceAccountName"});
  if (!account.empty()) out.service_account = account;
  const json::object* container = OurContainer(pod);
  if (container == nullptr) return out;
  if (const auto ttl = base::ParseDuration(Setting(*container, "ttl", "METRIC_TTL"))) {
    out.ttl = *ttl;
  }
  out.shared_store =
      !Flag(*container, "redis-addr").empty() || Variable(*container, "REDIS_ADDR").first;
  out.external_metrics = Switch(*container, "external-metrics", "ACTIVESCALE_EXTERNAL_METRICS");
  std::string_view list = Setting(*container, "namespaces", "ACTIVESCALE_NAMESPACES");
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) out.namespaces.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return out;
}

/// Why a pod is not ready, in the words of its status.
std::string StateOf(const json::object& pod) {
  for (const json::object* status : FindObjects(pod, {"status", "containerStatuses"})) {
    const std::string_view reason = FindString(*status, {"state", "waiting", "reason"});
    if (!reason.empty()) {
      return fmt::format("{}: {}", reason, FindString(*status, {"state", "waiting", "message"}));
    }
  }
  for (const std::string_view type : {"PodScheduled", "Ready"}) {
    const json::object* condition = FindCondition(pod, type);
    if (condition != nullptr && FindString(*condition, {"status"}) == "False") {
      return fmt::format("{}: {}", FindString(*condition, {"reason"}),
                         FindString(*condition, {"message"}));
    }
  }
  return std::string(FindString(pod, {"status", "phase"}));
}

/// "a=b,c=d" of a Service; "" if it selects by no labels.
std::string ServiceSelector(const json::object& service) {
  std::vector<std::string> terms;
  if (const json::object* selector = FindObject(service, {"spec", "selector"})) {
    for (const auto& [key, value] : *selector) {
      if (value.is_string()) {
        terms.push_back(
            fmt::format("{}={}", std::string_view(key), std::string_view(value.get_string())));
      }
    }
  }
  return fmt::format("{}", fmt::join(terms, ","));
}

class InstallGathering {
 public:
  InstallGathering(const ClusterReader& reader, const DoctorQuestion& question)
      : reader_(reader), question_(question) {}

  InstallFacts Run();
  base::Result<std::vector<ReplicaHealth>> Healths();

 private:
  [[nodiscard]] kube::ApiResult<json::object> Pods(const std::string& selector) const {
    return reader_.get(fmt::format("/api/v1/namespaces/{}/pods?limit=100&labelSelector={}",
                                   question_.ns, QueryEscape(selector)));
  }
  void AskAddresses(std::vector<ReplicaHealth>& healths) const;
  void GatherReplicas(InstallFacts& facts);
  void GatherHealths(InstallFacts& facts, const std::vector<const json::object*>& pods);
  [[nodiscard]] base::Result<PushService> Push() const;
  void GatherRights(InstallFacts& facts);
  [[nodiscard]] base::Result<bool> Allowed(const InstallFacts& facts, json::object what) const;

  const ClusterReader& reader_;
  const DoctorQuestion& question_;
};

void InstallGathering::GatherReplicas(InstallFacts& facts) {
  const auto service = reader_.get(
      fmt::format("/api/v1/namespaces/{}/services/{}", question_.ns, question_.service));
  if (!service) {
    facts.replicas = std::unexpected(service.error().error);
    return;
  }
  const std::string selector = ServiceSelector(*service);
  if (selector.empty()) return;
  const auto list = Pods(selector);
  if (!list) {
    facts.replicas = std::unexpected(list.error().error);
    return;
  }
  std::vector<Replica> replicas;
  std::vector<const json::object*> running;
  for (const json::object* pod : FindObjects(*list, {"items"})) {
    const kube::Pod parsed = kube::ParsePod(*pod);
    if (parsed.finished() || parsed.terminating) continue;
    replicas.push_back({parsed.name, parsed.ready, parsed.ready ? "" : StateOf(*pod)});
    if (replicas.size() == 1) facts.settings = ReadSettings(*pod);
    if (parsed.phase == kube::PodPhase::kRunning) running.push_back(pod);
  }
  facts.replicas = std::move(replicas);
  if (question_.health_addresses.empty()) GatherHealths(facts, running);
}

int HealthPort(const json::object& pod) {
  const json::object* container = OurContainer(pod);
  if (container == nullptr) return kHealthPort;
  for (const json::object* port : FindObjects(*container, {"ports"})) {
    const json::value* number = port->if_contains("containerPort");
    if (FindString(*port, {"name"}) == "health" && number != nullptr && number->is_int64()) {
      return static_cast<int>(number->get_int64());
    }
  }
  return kHealthPort;
}

void InstallGathering::GatherHealths(InstallFacts& facts,
                                     const std::vector<const json::object*>& pods) {
  for (size_t i = 0; i < std::min(pods.size(), kMostReplicas); ++i) {
    const std::string name(FindString(*pods[i], {"metadata", "name"}));
    const std::string root = fmt::format("/api/v1/namespaces/{}/pods/http:{}:{}/proxy",
                                         question_.ns, name, HealthPort(*pods[i]));
    ReplicaHealth health{.replica = name,
                         .asked_at = question_.now,
                         .readyz = reader_.text(root + "/readyz?verbose"),
                         .metrics = Samples()};
    // The list of checks of a replica that is not ready comes as a refusal.
    if (!health.readyz && !FailedChecks(health.readyz.error().message).empty()) {
      health.readyz = health.readyz.error().message;
    }
    const auto metrics = reader_.text(root + "/metrics");
    health.metrics =
        metrics ? base::Result<Samples>(ReadSamples(*metrics)) : std::unexpected(metrics.error());
    facts.health.push_back(std::move(health));
  }
}

base::Result<PushService> InstallGathering::Push() const {
  const auto service = reader_.get(
      fmt::format("/api/v1/namespaces/{}/services/{}-grpc", question_.ns, question_.service));
  if (!service) return std::unexpected(service.error().error);
  PushService out{.headless = FindString(*service, {"spec", "clusterIP"}) == "None",
                  .selects_replicas = true};
  if (const std::string selector = ServiceSelector(*service); !selector.empty()) {
    const auto pods = Pods(selector);
    if (!pods) return std::unexpected(pods.error().error);
    out.selects_replicas = !FindObjects(*pods, {"items"}).empty();
  }
  return out;
}

base::Result<bool> InstallGathering::Allowed(const InstallFacts& facts, json::object what) const {
  const std::string& account = facts.settings.service_account;
  const json::object review{
      {"apiVersion", "authorization.k8s.io/v1"},
      {"kind", "SubjectAccessReview"},
      {"spec",
       {{"user", fmt::format("system:serviceaccount:{}:{}", question_.ns, account)},
        {"groups",
         {"system:serviceaccounts", "system:serviceaccounts:" + question_.ns,
          "system:authenticated"}},
        {"resourceAttributes", std::move(what)}}}};
  const auto answer =
      reader_.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", json::serialize(review));
  if (!answer) return std::unexpected(answer.error().error);
  return IsTrue(*answer, {"status", "allowed"});
}

void InstallGathering::GatherRights(InstallFacts& facts) {
  const auto ask = [&](std::string consequence, bool essential, json::object what) {
    const std::string action =
        fmt::format("{} {}{}", FindString(what, {"verb"}), FindString(what, {"resource"}),
                    FindString(what, {"namespace"}).empty()
                        ? ""
                        : fmt::format(" in {}", FindString(what, {"namespace"})));
    facts.rights.push_back(
        {action, std::move(consequence), essential, Allowed(facts, std::move(what))});
  };
  std::vector<std::string> namespaces = facts.settings.namespaces;
  if (namespaces.empty()) namespaces.emplace_back();
  for (const std::string& ns : namespaces) {
    for (const char* verb : {"list", "watch"}) {
      ask("no metric can be read", true,
          {{"verb", verb}, {"group", ""}, {"resource", "pods"}, {"namespace", ns}});
    }
    ask("Object metrics of a Service cannot be read", false,
        {{"verb", "list"}, {"group", ""}, {"resource", "services"}, {"namespace", ns}});
    ask("Object metrics of a Deployment cannot be read", false,
        {{"verb", "list"}, {"group", "apps"}, {"resource", "replicasets"}, {"namespace", ns}});
  }
  ask("bearer tokens cannot be checked", true,
      {{"verb", "create"}, {"group", "authentication.k8s.io"}, {"resource", "tokenreviews"}});
  ask("nobody but the control plane may read metrics", true,
      {{"verb", "create"},
       {"group", "authorization.k8s.io"},
       {"resource", "subjectaccessreviews"}});
  ask("the aggregator's requests cannot be authenticated", true,
      {{"verb", "watch"},
       {"group", ""},
       {"resource", "configmaps"},
       {"namespace", "kube-system"},
       {"name", "extension-apiserver-authentication"}});
  ask("replicas do not know of each other", false,
      {{"verb", "list"},
       {"group", "discovery.k8s.io"},
       {"resource", "endpointslices"},
       {"namespace", question_.ns}});
}

InstallFacts InstallGathering::Run() {
  InstallFacts facts{
      .service = fmt::format("{}/{}", question_.ns, question_.service),
      .custom = {},
      .external = GatherApiService(reader_, "v1beta1.external.metrics.k8s.io"),
      .rights = {},
      .push = Push(),
      .replicas = base::Fail(base::Code::kUnimplemented, "the Service selects by no labels"),
      .settings = {},
      .health = {}};
  for (const char* version : {"v1beta2", "v1beta1"}) {
    facts.custom.push_back(
        {version, GatherApiService(reader_, fmt::format("{}.custom.metrics.k8s.io", version))});
  }
  GatherReplicas(facts);
  GatherRights(facts);
  AskAddresses(facts.health);
  return facts;
}

base::Result<std::vector<ReplicaHealth>> InstallGathering::Healths() {
  InstallFacts facts;
  AskAddresses(facts.health);
  if (!facts.health.empty()) return std::move(facts.health);
  GatherReplicas(facts);
  if (!facts.replicas) return std::unexpected(facts.replicas.error());
  return std::move(facts.health);
}

void InstallGathering::AskAddresses(std::vector<ReplicaHealth>& healths) const {
  for (const std::string& address : question_.health_addresses) {
    healths.push_back(GatherHealth(reader_, address, question_.now));
  }
}

/// --kube-api-qps of the HPA controller where its pod can be seen, as with kubeadm.
std::optional<double> ControllerQps(const ClusterReader& reader) {
  const auto pods = reader.get(
      "/api/v1/namespaces/kube-system/pods?limit=1&labelSelector=component%3D"
      "kube-controller-manager");
  if (!pods) return std::nullopt;
  for (const json::object* pod : FindObjects(*pods, {"items"})) {
    for (const json::object* container : FindObjects(*pod, {"spec", "containers"})) {
      for (const char* list : {"command", "args"}) {
        const json::array* words = FindArray(*container, {list});
        if (words == nullptr) continue;
        for (const json::value& word : *words) {
          constexpr std::string_view kFlag = "--kube-api-qps=";
          if (!word.is_string()) continue;
          const std::string_view text(word.get_string());
          double qps = 0;
          if (text.starts_with(kFlag) &&
              std::from_chars(text.data() + kFlag.size(), text.data() + text.size(), qps).ec ==
                  std::errc()) {
            return qps;
          }
        }
      }
    }
  }
  return std::nullopt;
}

base::Result<ControllerLoad> GatherLoad(const ClusterReader& reader) {
  ControllerLoad load;
  std::string token;
  do {
    const auto page =
        reader.get(fmt::format("/apis/autoscaling/v2/horizontalpodautoscalers?limit=500{}",
                               token.empty() ? "" : "&continue=" + QueryEscape(token)));
    if (!page) return std::unexpected(page.error().error);
    for (const json::object* hpa : FindObjects(*page, {"items"})) {
      ++load.autoscalers;
      for (const json::object* metric : FindObjects(*hpa, {"spec", "metrics"})) {
        const std::string_view type = FindString(*metric, {"type"});
        if (type == "Pods" || type == "Object") ++load.custom_reads;
      }
    }
    token = FindString(*page, {"metadata", "continue"});
  } while (!token.empty());
  load.qps = ControllerQps(reader);
  return load;
}

}  // namespace

ReplicaHealth GatherHealth(const ClusterReader& reader, const std::string& address,
                           base::WallTime now) {
  const auto metrics = reader.fetch(fmt::format("http://{}/metrics", address));
  return {.replica = address,
          .asked_at = now,
          .readyz = reader.fetch(fmt::format("http://{}/readyz?verbose", address)),
          .metrics = metrics ? base::Result<Samples>(ReadSamples(*metrics))
                             : std::unexpected(metrics.error())};
}

base::Result<std::vector<ReplicaHealth>> GatherHealths(const ClusterReader& reader,
                                                       const DoctorQuestion& question) {
  return InstallGathering(reader, question).Healths();
}

DoctorFacts Gather(const ClusterReader& reader, const DoctorQuestion& question) {
  DoctorFacts facts{.server = question.server,
                    .version = std::string(),
                    .install = std::nullopt,
                    .workload = std::nullopt,
                    .hpa = fmt::format("{}/{}", question.hpa_ns, question.hpa),
                    .load = ControllerLoad()};
  const auto version = reader.get("/version");
  if (!version) {
    facts.version = std::unexpected(version.error().error);
    return facts;
  }
  facts.version = fmt::format("Kubernetes {}", FindString(*version, {"gitVersion"}));
  facts.install = InstallGathering(reader, question).Run();
  if (!question.hpa.empty()) facts.workload = GatherWorkload(reader, question);
  facts.load = GatherLoad(reader);
  return facts;
}

}  // namespace activescale::insight
