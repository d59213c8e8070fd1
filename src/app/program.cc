#include "app/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "app/command_line.h"
#include "app/completion.h"
#include "app/doctor.h"
#include "app/documentation.h"
#include "app/explain.h"
#include "app/man_page.h"
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
  Usage (*usage)();
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
    Print(HelpText(ServeUsage()));
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

/// The usage of a command that takes one of these words, or none.
Usage WordUsage(std::string_view name, std::string_view about, std::string_view word,
                std::vector<std::string> choices) {
  Usage usage{.name = std::string(name), .about = std::string(about)};
  if (choices.empty()) return usage;
  usage.flags.push_back({.name = std::string(word),
                         .kind = std::string(word),
                         .choices = std::move(choices),
                         .help = "one of them",
                         .group = "Arguments"});
  return usage;
}

/// Refuses arguments that a command does not have.
int RefuseArguments(const Usage& usage) {
  fmt::print(stderr, "usage: {}\n", usage.Line());
  return kExitBadConfiguration;
}

std::vector<Usage> Usages();

Usage DocsUsage() {
  return WordUsage("docs", "Prints documentation that is made from the tables of settings.", "PAGE",
                   {"configuration", "man"});
}

int RunDocs(Arguments arguments, const Environment&) {
  const std::string page = arguments.size() == 1 ? arguments[0] : "";
  if (page == "configuration") {
    Print(ConfigurationMarkdown());
  } else if (page == "man") {
    Print(ManPage(Usages(), ACTIVESCALE_VERSION));
  } else {
    return RefuseArguments(DocsUsage());
  }
  return kExitOk;
}

Usage CompletionUsage() {
  return WordUsage("completion",
                   "Prints a script that completes commands, flags and values in a shell: source "
                   "<(activescale completion bash); the same for zsh; activescale completion fish "
                   "| source.",
                   "SHELL", {"bash", "zsh", "fish"});
}

int RunCompletion(Arguments arguments, const Environment&) {
  const std::string shell = arguments.size() == 1 ? arguments[0] : "";
  if (shell == "bash") {
    Print(BashCompletion(Usages()));
  } else if (shell == "zsh") {
    Print(ZshCompletion(Usages()));
  } else if (shell == "fish") {
    Print(FishCompletion(Usages()));
  } else {
    return RefuseArguments(CompletionUsage());
  }
  return kExitOk;
}

Usage VersionUsage() { return WordUsage("version", "Prints the version.", {}, {}); }

int RunVersion(Arguments, const Environment&) {
  Print("activescale " ACTIVESCALE_VERSION "\n");
  return kExitOk;
}

Usage HelpUsage();
int RunHelp(Arguments arguments, const Environment& environment);

constexpr Command kCommands[] = {
    {"serve", "take metrics from Envoys and serve them to Kubernetes; also what only flags mean",
     RunServe, ServeUsage},
    {"simulate", "what an HPA would do with a load, without a cluster", RunSimulate, SimulateUsage},
    {"recommend", "target, minimum, maximum and window from a recorded history", RunRecommend,
     RecommendUsage},
    {"query", "ask a server of Prometheus's query API, with a plot in the terminal", RunQuery,
     QueryUsage},
    {"explain", "what an HPA saw, what its controller makes of it, and why", RunExplain,
     ExplainUsage},
    {"doctor", "why there is no metric: checks of a cluster, a process or an Envoy bootstrap",
     RunDoctor, DoctorUsage},
    {"top", "workloads with what they have in flight, refreshed", RunTop, TopUsage},
    {"completion", "print a script that completes commands and flags in bash, zsh or fish",
     RunCompletion, CompletionUsage},
    {"version", "print the version", RunVersion, VersionUsage},
    {"help", "print this, or the help of a command", RunHelp, HelpUsage},
    {"docs", "", RunDocs, DocsUsage},
};

const Command* FindCommand(std::string_view name) {
  const auto* at = std::ranges::find(kCommands, name, &Command::name);
  return at == std::end(kCommands) ? nullptr : at;
}

Usage HelpUsage() {
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (!command.summary.empty()) names.emplace_back(command.name);
  }
  return WordUsage("help", "Prints the list of commands, or the help of one.", "COMMAND",
                   std::move(names));
}

std::vector<Usage> Usages() {
  std::vector<Usage> out;
  for (const Command& command : kCommands) {
    out.push_back(command.usage());
    out.back().summary = command.summary;
  }
  return out;
}

std::string Overview() {
  std::string text =
      "activescale turns what Envoys have in flight now into numbers that Kubernetes scales by.\n\n"
      "usage: activescale COMMAND [FLAGS]\n\n";
  for (const Command& command : kCommands) {
    if (!command.summary.empty())
      text += fmt::format("  {:<12}{}\n", command.name, command.summary);
  }
  return text + "\nFlags of a command: activescale help COMMAND\n";
}

int RefuseCommand(std::string_view name) {
  fmt::print(stderr, "activescale: unknown command \"{}\"\n\n{}", name, Overview());
  return kExitBadConfiguration;
}

int RunHelp(Arguments arguments, const Environment&) {
  if (arguments.empty()) {
    Print(Overview());
    return kExitOk;
  }
  const Command* command = FindCommand(arguments[0]);
  if (command == nullptr) return RefuseCommand(arguments[0]);
  Print(HelpText(command->usage()));
  return kExitOk;
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
  const Command* command = FindCommand(all[0]);
  if (command == nullptr) return RefuseCommand(all[0]);
  const bool wants_help = all.size() == 2 && (all[1] == "--help" || all[1] == "-h");
  if (wants_help) return RunHelp(all.first(1), environment);
  return command->run(all.subspan(1), environment);
}

}  // namespace activescale::app
