#include "store/redis/client_stats.h"

#include <atomic>
#include <cstdint>

namespace activescale::store {
namespace {

void PublishCounter(telemetry::Registry& registry, const char* name, const char* help,
                    const std::atomic<uint64_t>& source) {
  telemetry::Counter& counter = registry.AddCounter(name, help);
  registry.AddRefresh([&counter, &source] {
    counter.Increment(static_cast<double>(source.load()) - counter.Value());
  });
}

}  // namespace

void PublishClientStats(const redis::Client& client, telemetry::Registry& registry) {
  const redis::Stats& stats = client.stats();
  PublishCounter(registry, "activescale_redis_commands_total", "Commands sent.", stats.commands);
  PublishCounter(registry, "activescale_redis_command_retries_total",
                 "Commands sent again after a redirect or a lost connection.", stats.retries);
  PublishCounter(registry, "activescale_redis_redirects_total", "MOVED and ASK replies.",
                 stats.redirects);
  PublishCounter(registry, "activescale_redis_timeouts_total",
                 "Commands without an answer in their time.", stats.timeouts);
  PublishCounter(registry, "activescale_redis_connection_attempts_total", "Attempts to connect.",
                 stats.attempts);
  PublishCounter(registry, "activescale_redis_failed_connection_attempts_total",
                 "Attempts to connect that failed.", stats.failed_attempts);
  PublishCounter(registry, "activescale_redis_lost_connections_total",
                 "Ready connections that broke.", stats.lost);
  PublishCounter(registry, "activescale_redis_failovers_total",
                 "Changes of the master of the same keys.", stats.failovers);
  PublishCounter(registry, "activescale_redis_topology_refreshes_total",
                 "Questions to Sentinels and Cluster nodes who the masters are.", stats.refreshes);
  telemetry::Gauge& in_flight =
      registry.AddGauge("activescale_redis_commands_in_flight", "Commands waiting for an answer.");
  telemetry::Gauge& ready =
      registry.AddGauge("activescale_redis_ready", "1 if at least one master answers, else 0.");
  telemetry::Gauge& partial = registry.AddGauge(
      "activescale_redis_partial", "1 if some masters answer and others do not, else 0.");
  registry.AddRefresh([&client, &stats, &in_flight, &ready, &partial] {
    const redis::HealthSummary health = client.Check();
    in_flight.Set(static_cast<double>(stats.in_flight.load()));
    ready.Set(health.ok ? 1 : 0);
    partial.Set(health.partial ? 1 : 0);
  });
}

}  // namespace activescale::store
