#include <span>

#include "app/settings.h"

namespace activescale::app {
namespace {

// Source: kubernetes/klog:klog.go, InitFlags; kubernetes/apiserver:pkg/server/options and
// k8s.io/component-base/logs, as custom-metrics-apiserver's base adapter adds them.
constexpr IgnoredFlag kIgnoredFlags[] = {
    {"add_dir_header", true},
    {"alsologtostderr", true},
    {"audit-log-batch-buffer-size"},
    {"audit-log-batch-max-size"},
    {"audit-log-batch-max-wait"},
    {"audit-log-batch-throttle-burst"},
    {"audit-log-batch-throttle-enable", true},
    {"audit-log-batch-throttle-qps"},
    {"audit-log-compress", true},
    {"audit-log-format"},
    {"audit-log-maxage"},
    {"audit-log-maxbackup"},
    {"audit-log-maxsize"},
    {"audit-log-mode"},
    {"audit-log-path"},
    {"audit-log-truncate-enabled", true},
    {"audit-log-truncate-max-batch-size"},
    {"audit-log-truncate-max-event-size"},
    {"audit-log-version"},
    {"audit-policy-file"},
    {"audit-webhook-config-file"},
    {"audit-webhook-initial-backoff"},
    {"audit-webhook-mode"},
    {"contention-profiling", true},
    {"debug-socket-path"},
    {"discovery-interval"},
    {"emulated-version"},
    {"feature-gates"},
    {"http2-max-streams-per-connection"},
    {"log-backtrace-at"},
    {"log-dir"},
    {"log-file"},
    {"log-file-max-size"},
    {"log-flush-frequency"},
    {"log_backtrace_at"},
    {"log_dir"},
    {"log_file"},
    {"log_file_max_size"},
    {"logging-format"},
    {"logtostderr", true},
    {"one_output", true},
    {"permit-address-sharing", true},
    {"permit-port-sharing", true},
    {"profiling", true},
    {"skip_headers", true},
    {"skip_log_headers", true},
    {"stderrthreshold"},
    {"tls-cipher-suites"},
    {"tls-min-version"},
    {"vmodule"},
};

}  // namespace

std::span<const IgnoredFlag> IgnoredFlags() { return kIgnoredFlags; }

}  // namespace activescale::app
