#include "store/redis/write_counters.h"

namespace activescale::store {
namespace {

telemetry::Counter& Dropped(telemetry::Registry& registry, const char* reason) {
  return registry.AddCounter("activescale_store_dropped_writes_total",
                             "Writes that the store refused.", {{"reason", reason}});
}

}  // namespace

WriteCounters::WriteCounters(telemetry::Registry& registry)
    : writes(registry.AddCounter("activescale_redis_writes_total",
                                 "States of streams that Redis took.")),
      retries(registry.AddCounter("activescale_redis_write_retries_total",
                                  "States of streams that had to be sent again.")),
      superseded(registry.AddCounter("activescale_redis_superseded_writes_total",
                                     "Writes refused because a newer stream of the pod counts.")),
      max_streams(Dropped(registry, "max_streams")),
      foreign_value(Dropped(registry, "foreign_value")),
      unknown_version(Dropped(registry, "unknown_version")),
      expired(Dropped(registry, "expired")),
      out_of_memory_(Dropped(registry, "redis_out_of_memory")),
      no_permission_(Dropped(registry, "redis_no_permission")),
      not_durable_(Dropped(registry, "redis_not_durable")),
      other_error_(Dropped(registry, "redis_error")) {}

telemetry::Counter& WriteCounters::Refused(redis::ErrorKind kind) {
  switch (kind) {
    case redis::ErrorKind::kOutOfMemory:
      return out_of_memory_;
    case redis::ErrorKind::kNoPerm:
      return no_permission_;
    case redis::ErrorKind::kNotDurable:
      return not_durable_;
    default:
      return other_error_;
  }
}

}  // namespace activescale::store
