#pragma once

#include "redis/reply_error.h"
#include "telemetry/registry.h"

namespace activescale::store {

/// What the writing half of RedisStore counts. Handles live as long as the registry.
class WriteCounters {
 public:
  explicit WriteCounters(telemetry::Registry& registry);

  telemetry::Counter& writes;      // operations that Redis took
  telemetry::Counter& retries;     // operations sent again
  telemetry::Counter& superseded;  // refused: another stream of the pod counts
  telemetry::Counter& max_streams;
  telemetry::Counter& foreign_value;
  telemetry::Counter& unknown_version;
  telemetry::Counter& expired;  // could not be written within its TTL

  /// The counter of writes that were lost because Redis answered with an error of this kind.
  [[nodiscard]] telemetry::Counter& Refused(redis::ErrorKind kind);

 private:
  telemetry::Counter& out_of_memory_;
  telemetry::Counter& no_permission_;
  telemetry::Counter& not_durable_;
  telemetry::Counter& other_error_;
};

}  // namespace activescale::store
