#include "app/top.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <limits>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "app/cluster_session.h"
#include "app/program.h"
#include "app/sim_flags.h"
#include "insight/top.h"

namespace activescale::app {
namespace {

constexpr double kLeastSeconds = 0.1;

struct TopFlags {
  std::string ns;
  std::string service = "ns-observability/activescale";
  std::vector<std::string> health_addresses;
  std::string kubeconfig;
  std::string context;
  std::string interval = "2s";
  bool once = false;
  std::string output = "text";
};

void AddFlags(CLI::App& app, TopFlags& f) {
  app.name("top");
  app.description("Workloads with what their pods have in flight, most first.");
  app.add_option("-n,--namespace", f.ns, "only this one; by default all")->type_name("NAMESPACE");
  app.add_option("--kubeconfig", f.kubeconfig,
                 "access to the cluster; by default KUBECONFIG, ~/.kube/config, the pod's service "
                 "account")
      ->type_name("FILE")
      ->group("Cluster");
  app.add_option("--context", f.context, "of the kubeconfig; by default its current-context")
      ->group("Cluster");
  app.add_option("--service", f.service, "the Service of the installation, for the column AHEAD")
      ->type_name("NAMESPACE/NAME")
      ->capture_default_str()
      ->group("Cluster");
  app.add_option("--health-address", f.health_addresses,
                 "health port to ask directly, as after kubectl port-forward; may be repeated")
      ->type_name("HOST:PORT")
      ->group("Cluster");
  app.add_option("--interval", f.interval, "time between two looks")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_flag("--once", f.once, "one look, then end");
  app.add_option("--output", f.output, "form of a look; json is one line")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

/// Rows of a table that fit the terminal; all where standard output is none.
size_t RowsThatFit() {
  constexpr size_t kAround = 4;  // heading, what was left out, prompt
  winsize size{};
  const bool terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > kAround;
  return terminal ? size.ws_row - kAround : std::numeric_limits<size_t>::max();
}

std::string Show(const insight::TopTable& table, const TopFlags& f) {
  if (f.output == "json") return insight::TopJson(table);
  // Home, and clear what is below: no flicker.
  const bool repaint = !f.once && isatty(STDOUT_FILENO) == 1;
  return (repaint ? "\x1b[H\x1b[J" : "") +
         insight::TopText(table, f.once ? std::numeric_limits<size_t>::max() : RowsThatFit());
}

base::Result<void> Watch(const TopFlags& f, const Environment& environment) {
  const auto interval = Seconds("interval", f.interval);
  if (!interval) return std::unexpected(interval.error());
  if (*interval < kLeastSeconds) {
    return base::Fail(base::Code::kInvalidArgument, "--interval is 100ms at least");
  }
  insight::DoctorQuestion question;
  const auto service = SplitName("service", f.service);
  if (!service) return std::unexpected(service.error());
  std::tie(question.ns, question.service) = *service;
  question.health_addresses = f.health_addresses;
  auto access = FindAccess(f.kubeconfig, f.context, environment);
  if (!access) return std::unexpected(std::move(access.error()));
  ClusterSession session(*std::move(access));
  const insight::ClusterReader reader = session.Reader();
  while (true) {
    question.now = session.Now();
    const insight::TopTable table =
        insight::GatherTop(reader, f.ns, insight::GatherHealths(reader, question), question.now);
    if (auto written = WriteOutput("", Show(table, f)); !written) return written;
    std::fflush(stdout);  // a reader at the other end of a pipe waits for it
    if (f.once) {
      if (table.faults.empty()) return {};
      return base::Fail(base::Code::kUnavailable, "not everything could be read");
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(*interval));
  }
}

}  // namespace

int RunTop(std::span<const std::string> arguments, const Environment& environment) {
  CLI::App app;
  TopFlags flags;
  AddFlags(app, flags);
  if (const auto code = ParseFlags(app, arguments)) return *code;
  return Finish(app, Watch(flags, environment));
}

Usage TopUsage() { return UsageWith<TopFlags>(AddFlags); }

}  // namespace activescale::app
