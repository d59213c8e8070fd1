#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "hpa/types.h"
#include "keda/hpa_metric.h"
#include "keda/scaler.h"
#include "keda/trigger.h"
#include "kube/hpa_object.h"
#include "kube/scaled_object.h"
#include "scaleahead/seams.h"

namespace activescale::app {

/// The trigger that a metric of an HPA stands for, if KEDA asks this process for it at each sync of
/// the controller. Errors: kUnavailable: KEDA has not made of the HPA what the ScaledObject says
/// now; else why it is not one of ours.
[[nodiscard]] base::Result<keda::Trigger> FindTrigger(const kube::ScaledObject& object,
                                                      const keda::HpaMetric& metric,
                                                      hpa::TargetType target_type,
                                                      const keda::ScalerAddress& ours,
                                                      const keda::TriggerRules& rules);

/// Reads metrics of HPAs that KEDA made: the value is what KEDA would be answered at this moment.
/// Threads: any.
class KedaReaders {
 public:
  struct Parts {
    const keda::Scaler& scaler;
    keda::TriggerRules rules;
    keda::ScalerAddress address;
    /// Runs work on a thread where evaluations hold nobody else up.
    std::function<void(std::move_only_function<void()>)> post;
    /// Errors: kUnavailable: not known now.
    std::function<base::Result<kube::ScaledObject>(std::string_view ns, std::string_view name)>
        find;
    std::function<base::Result<void>(std::string_view ns)> known;
  };

  explicit KedaReaders(Parts parts) : parts_(std::move(parts)) {}

  /// It must outlive the reader. Errors: as FindTrigger and Parts::find.
  [[nodiscard]] base::Result<scaleahead::MetricReader> ReaderOf(
      const kube::HpaObject& hpa, size_t metric, const keda::HpaMetric& through) const;

 private:
  /// Errors: as keda::Scaler::ValueOf; kUnavailable: what was read at the start may not hold.
  [[nodiscard]] base::Result<double> Read(const keda::Trigger& trigger, int64_t target_milli) const;

  const Parts parts_;
};

}  // namespace activescale::app
