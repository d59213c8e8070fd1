#include "app/documentation.h"

#include <fmt/format.h>

#include <string_view>

#include "app/settings.h"

namespace activescale::app {
namespace {

constexpr std::string_view kHead = R"(# Configuration

<!-- Made by `activescale docs configuration` from src/app/settings.cc; do not edit. -->

Settings of `activescale serve`. Each can be given as a flag (`--ttl=20s`), as a variable of the
environment (`METRIC_TTL=20s`) or in the YAML file that `--config` or `ACTIVESCALE_CONFIG` names
(`ttl: 20s`, by the flag's name). A flag wins over the environment, that over the file, that over
the default. An empty variable counts as not set.

A list is comma-separated; its flag may be repeated, and in the file it may be a sequence. Durations
are Go's: `300ms`, `20s`, `1m30s`. Bytes are a number or a Kubernetes quantity: `33554432`, `32Mi`.

All faults of a configuration are reported together, and the process ends with exit code 2 before it
opens a port. The process itself ends with 0 after an orderly shutdown, with 1 if it cannot start
(a port is taken, a certificate does not load), with 3 if the shutdown hangs.
)";

constexpr std::string_view kIgnoredHead = R"(
## Accepted without effect

So that manifests written for other programs start as they are, these flags are accepted; each one
given is named in a warning:

)";

// A cell of a Markdown table.
std::string Cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

std::string Row(const Setting& setting) {
  const std::string initial =
      setting.initial.empty() ? std::string() : fmt::format("`{}`", setting.initial);
  return fmt::format("| `--{}` | `{}` | {} | {} | {} |\n", setting.name, setting.env,
                     Cell(setting.unit), Cell(initial), Cell(setting.help));
}

}  // namespace

std::string ConfigurationMarkdown() {
  std::string text(kHead);
  std::string_view group;
  for (const Setting& setting : Settings()) {
    if (setting.group != group) {
      group = setting.group;
      text += fmt::format(
          "\n## {}\n\n| flag | environment | kind | default | meaning |\n"
          "|---|---|---|---|---|\n",
          group);
    }
    text += Row(setting);
  }
  text += kIgnoredHead;
  std::string_view separator;
  for (const IgnoredFlag& flag : IgnoredFlags()) {
    text += fmt::format("{}`--{}`", separator, flag.name);
    separator = ", ";
  }
  return text + ".\n";
}

}  // namespace activescale::app
