#include "app/explain.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "app/cluster_session.h"
#include "app/sim_flags.h"
#include "insight/collector.h"
#include "insight/explain.h"

namespace activescale::app {
namespace {

struct ExplainFlags {
  std::string hpa;
  std::string from;
  std::string save;
  std::string kubeconfig;
  std::string context;
  std::optional<int32_t> replicas;
  std::string output = "text";
};

void AddFlags(CLI::App& app, ExplainFlags& f) {
  app.name("explain");
  app.description("What an HPA saw, what its controller makes of it, and why.");
  app.add_option("hpa", f.hpa, "hpa/NAMESPACE/NAME");
  app.add_option("--from", f.from, "explain what --save wrote, without a cluster")
      ->type_name("FILE");
  app.add_option("--save", f.save, "keep what was read in this file too; it holds no secrets")
      ->type_name("FILE");
  app.add_option("--kubeconfig", f.kubeconfig,
                 "access to the cluster; by default KUBECONFIG, ~/.kube/config, the pod's service "
                 "account")
      ->type_name("FILE")
      ->group("Cluster");
  app.add_option("--context", f.context, "of the kubeconfig; by default its current-context")
      ->group("Cluster");
  app.add_option("--replicas", f.replicas, "say also what would have to change to reach this many")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--output", f.output, "form of the explanation")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

/// What an HPA's name says. Errors: kInvalidArgument.
base::Result<std::pair<std::string, std::string>> ParseName(const std::string& text) {
  constexpr std::string_view kPrefix = "hpa/";
  const size_t slash = text.find('/', kPrefix.size());
  const bool fits = text.starts_with(kPrefix) && slash != std::string::npos &&
                    slash > kPrefix.size() && slash + 1 < text.size() &&
                    text.find('/', slash + 1) == std::string::npos;
  if (!fits) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("name the HPA as hpa/NAMESPACE/NAME, not \"{}\"", text));
  }
  return std::pair(text.substr(kPrefix.size(), slash - kPrefix.size()), text.substr(slash + 1));
}

base::Result<std::string> FromCluster(const ExplainFlags& f, const Environment& environment) {
  const auto name = ParseName(f.hpa);
  if (!name) return std::unexpected(name.error());
  auto access = FindAccess(f.kubeconfig, f.context, environment);
  if (!access) return std::unexpected(std::move(access.error()));
  ClusterSession session(*std::move(access));
  return insight::Collect(session.Reader().get, name->first, name->second, session.Now());
}

base::Result<void> ExplainAll(const ExplainFlags& f, const Environment& environment) {
  auto document = f.from.empty() ? FromCluster(f, environment) : ReadTextFile(f.from);
  if (!document) return std::unexpected(std::move(document.error()));
  if (!f.save.empty()) {
    if (auto saved = WriteOutput(f.save, *document); !saved) return saved;
  }
  const auto snapshot = insight::ReadSnapshot(*document);
  if (!snapshot) {
    return base::Fail(snapshot.error().code,
                      f.from.empty() ? snapshot.error().message
                                     : fmt::format("{} {}", f.from, snapshot.error().message));
  }
  const insight::Explanation explained = insight::Explain(*snapshot, f.replicas);
  return WriteOutput("", f.output == "json" ? insight::ExplanationJson(*snapshot, explained)
                                            : insight::ExplanationText(*snapshot, explained));
}

}  // namespace

int RunExplain(std::span<const std::string> arguments, const Environment& environment) {
  CLI::App app;
  ExplainFlags flags;
  AddFlags(app, flags);
  if (const auto code = ParseFlags(app, arguments)) return *code;
  return Finish(app, ExplainAll(flags, environment));
}

Usage ExplainUsage() { return UsageWith<ExplainFlags>(AddFlags); }

}  // namespace activescale::app
