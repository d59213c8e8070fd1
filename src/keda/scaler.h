#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "keda/trigger.h"
#include "signal/catalogue.h"
#include "signal/reading.h"

namespace activescale::keda {

/// What the HPA that KEDA makes is to aim at.
struct MetricSpec {
  std::string metric_name;
  double target = 0;  // per replica, above 0
};

/// The answers of an external scaler, without its wire. A value that is missing is an error, which
/// makes KEDA keep the replicas or take its fallback; 0 and "inactive" mean just that.
/// Threads: any.
class Scaler {
 public:
  using Signals = std::function<std::shared_ptr<const signal::Catalogue>()>;

  /// All of them must outlive it.
  Scaler(Signals signals, const signal::SignalReader& reader)
      : signals_(std::move(signals)), reader_(reader) {}

  /// From metadata and the configured signals alone, so that a ScaledObject can be made while there
  /// is no data. Errors: kNotFound: no such signal.
  [[nodiscard]] base::Result<MetricSpec> SpecOf(const Trigger& trigger) const;
  /// Now, or as of a moment in Unix milliseconds. Errors: as signal::SignalReader::Read and
  /// signal::SingleValue; kNotFound also for a signal that there is not.
  [[nodiscard]] base::Result<double> ValueOf(const Trigger& trigger,
                                             std::optional<int64_t> at_ms = std::nullopt) const;
  /// Whether the value is above the activation threshold, not at it. Errors: as ValueOf.
  [[nodiscard]] base::Result<bool> IsActive(const Trigger& trigger) const;

 private:
  /// Of readings that may be missing.
  [[nodiscard]] static base::Result<double> Value(
      const Trigger& trigger, const base::Result<std::vector<signal::Reading>>& readings);

  const Signals signals_;
  const signal::SignalReader& reader_;
};

}  // namespace activescale::keda
