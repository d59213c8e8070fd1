#include "app/signal_settings.h"

#include <fmt/format.h>

#include "app/setting_values.h"

namespace activescale::app {
namespace {

constexpr std::string_view kSignals = "Signals";

}  // namespace

std::vector<Setting> SignalSettings() {
  return {
      {kSignals, "signals-file", "ACTIVESCALE_SIGNALS_FILE", "file", "",
       "YAML with named expressions for autoscalers; read again when it changes. Empty: none.",
       Text(&Config::signals_file)},
      {kSignals, "external-metrics", "ACTIVESCALE_EXTERNAL_METRICS", Setting::kSwitch, "false",
       "Serve the signals as external.metrics.k8s.io, too. Only one server of a cluster can: KEDA "
       "is such a server.",
       Switch(&Config::external_metrics)},
  };
}

std::vector<std::string> SignalFaults(const Config& /*config*/) { return {}; }

}  // namespace activescale::app
