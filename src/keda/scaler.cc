#include "keda/scaler.h"

#include <utility>

namespace activescale::keda {

base::Result<MetricSpec> Scaler::SpecOf(const Trigger& trigger) const {
  if (trigger.threshold) return MetricSpec{trigger.metric_name, *trigger.threshold};
  const auto signals = signals_();
  const auto signal = signals->Find(trigger.ns, trigger.signal);
  if (!signal) return std::unexpected(signal.error());
  return MetricSpec{trigger.metric_name, (*signal)->target};
}

base::Result<double> Scaler::Value(const Trigger& trigger,
                                   const base::Result<std::vector<signal::Reading>>& readings) {
  if (readings) return signal::SingleValue(*readings);
  if (trigger.missing_is_zero && readings.error().code == base::Code::kNotFound) return 0;
  return std::unexpected(readings.error());
}

base::Result<double> Scaler::ValueOf(const Trigger& trigger, std::optional<int64_t> at_ms) const {
  if (trigger.query) {
    const signal::Scope scope{.ns = trigger.query_ns, .at_ms = at_ms};
    return Value(trigger, reader_.Read(*trigger.query, scope));
  }
  const auto signals = signals_();
  const auto signal = signals->Find(trigger.ns, trigger.signal);
  if (!signal) return std::unexpected(signal.error());
  return Value(trigger, reader_.Read(**signal, at_ms));
}

base::Result<bool> Scaler::IsActive(const Trigger& trigger) const {
  double activation = trigger.activation.value_or(0);
  if (!trigger.query && !trigger.activation) {
    const auto signals = signals_();
    const auto signal = signals->Find(trigger.ns, trigger.signal);
    if (signal) activation = (*signal)->activation;
  }
  const auto value = ValueOf(trigger);
  if (!value) return std::unexpected(value.error());
  return *value > activation;
}

}  // namespace activescale::keda
