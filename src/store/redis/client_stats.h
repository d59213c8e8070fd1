#pragma once

#include "redis/client.h"
#include "telemetry/registry.h"

namespace activescale::store {

/// Publishes what `client` counts, as activescale_redis_*, at each scrape of `registry`. The client
/// must outlive the registry's use.
void PublishClientStats(const redis::Client& client, telemetry::Registry& registry);

}  // namespace activescale::store
