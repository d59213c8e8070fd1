#pragma once

#include "base/error.h"
#include "series/matcher.h"

namespace activescale::signal {

/// Whether what Envoys push of a selector can be trusted at this moment. Threads: any.
class Telemetry {
 public:
  virtual ~Telemetry() = default;

  /// Nothing wrong for selectors of what does not come from Envoys. Errors: kUnavailable: the store
  /// is away, or a workload that the selector means has no fresh heartbeat; names which.
  [[nodiscard]] virtual base::Result<void> Check(const series::Matchers& matchers) const = 0;
};

}  // namespace activescale::signal
