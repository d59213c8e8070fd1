#include "app/doctor.h"

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "app/cluster_session.h"
#include "app/program.h"
#include "app/sim_flags.h"
#include "app/tcp_probe.h"
#include "base/duration.h"
#include "insight/doctor.h"
#include "insight/doctor_gather.h"
#include "insight/envoy_bootstrap.h"
#include "insight/finding.h"

namespace activescale::app {
namespace {

constexpr int kExitWarnings = 1;
constexpr int kExitFailures = 2;

struct DoctorFlags {
  std::string hpa;
  std::string service = "ns-observability/activescale";
  std::string kubeconfig;
  std::string context;
  std::vector<std::string> health_addresses;
  bool standalone = false;
  std::string grpc_address = "127.0.0.1:9000";
  std::string secure_address = "127.0.0.1:6443";
  std::string envoy_config;
  std::string ttl = "20s";
  std::string output = "text";
};

void AddFlags(CLI::App& app, DoctorFlags& f) {
  app.name("doctor");
  app.description(
      "Why is there no metric? Each check is ok, a warning or a failure with what to do. "
      "Exit code: 0, 1 with warnings, 2 with failures.");
  const std::string cluster = "Cluster";
  app.add_option("--hpa", f.hpa, "look at this HPA and its pods too")
      ->type_name("NAMESPACE/NAME")
      ->group(cluster);
  app.add_option("--service", f.service, "the Service of the installation")
      ->type_name("NAMESPACE/NAME")
      ->capture_default_str()
      ->group(cluster);
  app.add_option("--kubeconfig", f.kubeconfig,
                 "access to the cluster; by default KUBECONFIG, ~/.kube/config, the pod's service "
                 "account")
      ->type_name("FILE")
      ->group(cluster);
  app.add_option("--context", f.context, "of the kubeconfig; by default its current-context")
      ->group(cluster);
  app.add_option("--health-address", f.health_addresses,
                 "health port to ask directly, as after kubectl port-forward; may be repeated")
      ->type_name("HOST:PORT")
      ->group(cluster);
  const std::string process = "A process on this machine";
  app.add_flag("--standalone", f.standalone, "look at that, not at a cluster")->group(process);
  const auto add_address = [&](const char* name, std::string& value, const char* help) {
    app.add_option(name, value, help)
        ->type_name("HOST:PORT")
        ->capture_default_str()
        ->group(process);
  };
  add_address("--grpc-address", f.grpc_address, "its push port");
  add_address("--secure-address", f.secure_address, "its HTTPS port");
  const std::string bootstrap = "An Envoy bootstrap";
  app.add_option("--envoy-config", f.envoy_config,
                 "say what this file (YAML or JSON) lacks; looks at nothing else")
      ->type_name("FILE")
      ->group(bootstrap);
  app.add_option("--ttl", f.ttl, "the TTL that its flushes must keep up with")
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(bootstrap);
  app.add_option("--output", f.output, "form of the report")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

base::Result<insight::Findings> OfCluster(const DoctorFlags& f, const Environment& environment) {
  insight::DoctorQuestion question;
  const auto service = SplitName("service", f.service);
  if (!service) return std::unexpected(service.error());
  std::tie(question.ns, question.service) = *service;
  if (!f.hpa.empty()) {
    const auto hpa = SplitName("hpa", f.hpa);
    if (!hpa) return std::unexpected(hpa.error());
    std::tie(question.hpa_ns, question.hpa) = *hpa;
  }
  question.health_addresses = f.health_addresses;
  auto access = FindAccess(f.kubeconfig, f.context, environment);
  if (!access) {
    insight::DoctorFacts nothing{.server = {},
                                 .version = std::unexpected(access.error()),
                                 .install = std::nullopt,
                                 .workload = std::nullopt,
                                 .hpa = {},
                                 .load = insight::ControllerLoad()};
    return insight::Diagnose(nothing);
  }
  question.server = access->server;
  ClusterSession session(*std::move(access));
  question.now = session.Now();
  return insight::Diagnose(insight::Gather(session.Reader(), question));
}

insight::Finding PortFinding(const std::string& what, const std::string& address) {
  const auto open = ProbeTcp(address);
  if (open) return {insight::Level::kOk, what, fmt::format("{} takes connections", address), {}};
  return {insight::Level::kFailure, what, open.error().message,
          "is the process running, and with which ports? its log says \"listening on\""};
}

insight::Findings OfProcess(const DoctorFlags& f) {
  insight::Findings out{PortFinding("push port", f.grpc_address),
                        PortFinding("HTTPS port", f.secure_address)};
  ClusterSession session(std::nullopt);
  const insight::ClusterReader reader = session.Reader();
  std::vector<std::string> addresses = f.health_addresses;
  if (addresses.empty()) addresses.emplace_back("127.0.0.1:18080");
  for (const std::string& address : addresses) {
    const insight::Finding port = PortFinding("health port", address);
    out.push_back(port);
    if (port.level != insight::Level::kOk) continue;
    auto found = insight::DiagnoseHealth(insight::GatherHealth(reader, address, session.Now()));
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

base::Result<insight::Findings> OfBootstrap(const DoctorFlags& f) {
  const auto ttl = base::ParseDuration(f.ttl);
  if (!ttl) return base::Fail(ttl.error().code, fmt::format("--ttl: {}", ttl.error().message));
  const auto text = ReadTextFile(f.envoy_config);
  if (!text) return std::unexpected(text.error());
  return insight::CheckEnvoyBootstrap(*text, *ttl);
}

base::Result<insight::Findings> Look(const DoctorFlags& f, const Environment& environment) {
  if (!f.envoy_config.empty()) return OfBootstrap(f);
  if (f.standalone) return OfProcess(f);
  return OfCluster(f, environment);
}

}  // namespace

int RunDoctor(std::span<const std::string> arguments, const Environment& environment) {
  CLI::App app;
  DoctorFlags flags;
  AddFlags(app, flags);
  if (const auto code = ParseFlags(app, arguments)) return *code;
  const auto findings = Look(flags, environment);
  if (!findings) return Finish(app, std::unexpected(findings.error()));
  const auto written = WriteOutput("", flags.output == "json" ? insight::FindingsJson(*findings)
                                                              : insight::FindingsText(*findings));
  if (!written) return Finish(app, written);
  switch (insight::WorstOf(*findings)) {
    case insight::Level::kOk:
      return kExitOk;
    case insight::Level::kWarning:
      return kExitWarnings;
    case insight::Level::kFailure:
      break;
  }
  return kExitFailures;
}

Usage DoctorUsage() { return UsageWith<DoctorFlags>(AddFlags); }

}  // namespace activescale::app
