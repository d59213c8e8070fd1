#include "app/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string_view>

#include "app/command_line.h"
#include "app/doctor.h"
#include "app/documentation.h"
#include "app/explain.h"
#include "app/query.h"
#include "app/serve.h"
#include "app/simulate.h"
#include "app/top.h"
#include "base/log.h"

namespace activescale::app {
namespace {

using Arguments = std::span<const std::string>;

struct Command {
  std::string_view name;
  std::string_view summary;  // empty: not in the list for people
  int (*run)(Arguments arguments, const Environment& environment);
};

void Print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void PrintFaults(const std::vector<std::string>& faults) {
  fmt::print(stderr, "activescale: {} in the configuration; nothing was started\n",
             faults.size() == 1 ? "a fault" : fmt::format("{} faults", faults.size()));
  for (const std::string& fault : faults) fmt::print(stderr, "  {}\n", fault);
  fmt::print(stderr, "All settings: activescale serve --help\n");
}

int RunServe(Arguments arguments, const Environment& environment) {
  const CommandLine line = ParseCommandLine({arguments.begin(), arguments.end()});
  if (line.help) {
    Print(ServeHelp());
    return kExitOk;
  }
  const LoadedConfig loaded = LoadConfig(line, environment);
  if (!loaded.faults.empty()) {
    PrintFaults(loaded.faults);
    return kExitBadConfiguration;
  }
  base::SetVerbosity(loaded.config.verbosity);
  for (const std::string& warning : loaded.warnings) LOG_WARNING("{}", warning);
  return Serve(loaded.config);
}

int RunDocs(Arguments arguments, const Environment&) {
  if (arguments.size() != 1 || arguments[0] != "configuration") {
    fmt::print(stderr, "usage: activescale docs configuration\n");
    return kExitBadConfiguration;
  }
  Print(ConfigurationMarkdown());
  return kExitOk;
}

int RunVersion(Arguments, const Environment&) {
  Print("activescale " ACTIVESCALE_VERSION "\n");
  return kExitOk;
}

int RunHelp(Arguments arguments, const Environment& environment);

constexpr Command kCommands[] = {
    {"serve", "take metrics from Envoys and serve them to Kubernetes; also what only flags mean",
     RunServe},
    {"simulate", "what an HPA would do with a load, without a cluster", RunSimulate},
    {"recommend", "target, minimum, maximum and window from a recorded history", RunRecommend},
    {"query", "ask a server of Prometheus's query API, with a plot in the terminal", RunQuery},
    {"explain", "what an HPA saw, what its controller makes of it, and why", RunExplain},
    {"doctor", "why there is no metric: checks of a cluster, a process or an Envoy bootstrap",
     RunDoctor},
    {"top", "workloads with what they have in flight, refreshed", RunTop},
    {"version", "print the version", RunVersion},
    {"help", "print this, or the help of a command", RunHelp},
    {"docs", "", RunDocs},
};

const Command* FindCommand(std::string_view name) {
  const auto* at = std::ranges::find(kCommands, name, &Command::name);
  return at == std::end(kCommands) ? nullptr : at;
}

std::string Overview() {
  std::string text =
      "activescale turns what Envoys have in flight now into numbers that Kubernetes scales by.\n\n"
      "usage: activescale COMMAND [FLAGS]\n\n";
  for (const Command& command : kCommands) {
    if (!command.summary.empty())
      text += fmt::format("  {:<10}{}\n", command.name, command.summary);
  }
  return text + "\nSettings of serve: activescale serve --help\n";
}

int RunHelp(Arguments arguments, const Environment& environment) {
  const Command* command = arguments.empty() ? nullptr : FindCommand(arguments[0]);
  const bool has_help = command != nullptr && command->run != RunVersion &&
                        command->run != RunHelp && command->run != RunDocs;
  if (!has_help) {
    Print(Overview());
    return kExitOk;
  }
  const std::string help = "--help";
  return command->run(Arguments(&help, 1), environment);
}

}  // namespace

int RunProgram(const std::vector<std::string>& arguments, const Environment& environment) {
  const Arguments all(arguments);
  if (all.empty() || all[0].starts_with('-')) {
    const std::string_view first = all.empty() ? std::string_view() : std::string_view(all[0]);
    if (first == "--version" || first == "-version") return RunVersion({}, environment);
    if (first == "--help" || first == "-help" || first == "-h") return RunHelp({}, environment);
    return RunServe(all, environment);
  }
  if (const Command* command = FindCommand(all[0]))
    return command->run(all.subspan(1), environment);
  fmt::print(stderr, "activescale: unknown command \"{}\"\n\n{}", all[0], Overview());
  return kExitBadConfiguration;
}

}  // namespace activescale::app
