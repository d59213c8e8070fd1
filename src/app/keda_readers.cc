#include "app/keda_readers.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "metric/quantity.h"

namespace activescale::app {
namespace {

using base::Code;
using base::Fail;
using scaleahead::MetricReader;
using scaleahead::MetricReading;

/// A number as an HPA gets it from KEDA: written with three decimals, and ties go to the even one.
/// Source: kedacore/keda:pkg/scalers/scaler.go, quantityFromFloat64.
int64_t Milli(double value) {
  return metric::Quantity::Parse(fmt::format("{:.3f}", value)).value_or(metric::Quantity()).milli();
}

/// Whether KEDA asks this process for a trigger.
base::Result<void> CheckAddress(const kube::ScaledTrigger& trigger,
                                const keda::ScalerAddress& ours) {
  if (ours.host.empty()) return Fail(Code::kNotFound, "this process has no keda-address");
  const auto given = trigger.metadata.find("scalerAddress");
  if (given == trigger.metadata.end()) return Fail(Code::kNotFound, "it has no scalerAddress");
  if (keda::IsOurs(given->second, ours)) return {};
  return Fail(Code::kNotFound,
              fmt::format("its scalerAddress \"{}\" is not that of this process: keda-address, or "
                          "the Service {}-keda.{}",
                          given->second.substr(0, 128), ours.service,
                          ours.ns.empty() ? "NAMESPACE" : ours.ns));
}

/// Whether KEDA passes on to the controller what an external scaler says at that moment.
base::Result<void> CheckPassedOn(const kube::ScaledObject& object,
                                 const kube::ScaledTrigger& trigger, size_t index) {
  if (trigger.type.empty()) {
    return Fail(Code::kInvalidArgument, fmt::format("trigger {} cannot be read", index));
  }
  if (trigger.type != "external" && trigger.type != "external-push") {
    return Fail(Code::kInvalidArgument,
                fmt::format("trigger {} is of type {}; steps ahead are for external and "
                            "external-push",
                            index, trigger.type.substr(0, 64)));
  }
  if (trigger.cached) {
    return Fail(Code::kInvalidArgument,
                fmt::format("trigger {} has useCachedMetrics, so the controller gets what KEDA's "
                            "last poll gave",
                            index));
  }
  if (object.has_fallback) {
    return Fail(Code::kInvalidArgument,
                "it has a fallback, so the controller may get values that are not the trigger's");
  }
  return {};
}

}  // namespace

base::Result<keda::Trigger> FindTrigger(const kube::ScaledObject& object,
                                        const keda::HpaMetric& metric, hpa::TargetType target_type,
                                        const keda::ScalerAddress& ours,
                                        const keda::TriggerRules& rules) {
  if (object.has_modifiers || !metric.trigger) {
    return Fail(Code::kInvalidArgument,
                "its scalingModifiers make one metric of several triggers, which KEDA computes");
  }
  const size_t index = *metric.trigger;
  if (index >= object.triggers.size()) {
    return Fail(Code::kUnavailable, fmt::format("it has no trigger {}", index));
  }
  const kube::ScaledTrigger& trigger = object.triggers[index];
  if (auto passed = CheckPassedOn(object, trigger, index); !passed) {
    return std::unexpected(std::move(passed.error()));
  }
  if (auto asked = CheckAddress(trigger, ours); !asked) {
    return Fail(asked.error().code, fmt::format("trigger {}: {}", index, asked.error().message));
  }
  auto read = keda::ParseTrigger({object.ns, object.name, trigger.metadata}, rules);
  if (!read) {
    return Fail(read.error().code,
                fmt::format("trigger {}: {}", index, read.error().message.substr(0, 512)));
  }
  const bool by_value = trigger.metric_type == "Value";
  if (read->metric_name != metric.name || by_value != (target_type == hpa::TargetType::kValue)) {
    return Fail(Code::kUnavailable,
                fmt::format("KEDA has not made the HPA's metric of trigger {} yet", index));
  }
  return read;
}

base::Result<MetricReader> KedaReaders::ReaderOf(const kube::HpaObject& hpa, size_t metric,
                                                 const keda::HpaMetric& through) const {
  const hpa::MetricSpec& spec = hpa.spec.metrics[metric];
  const auto object = parts_.find(hpa.ns, through.object);
  if (!object) return std::unexpected(object.error());
  auto trigger = FindTrigger(*object, through, spec.target_type, parts_.address, parts_.rules);
  if (!trigger) {
    return Fail(trigger.error().code,
                fmt::format("ScaledObject {}: {}", through.object, trigger.error().message));
  }
  return [this, target = spec.target,
          trigger = std::make_shared<const keda::Trigger>(*std::move(trigger))](auto done) {
    parts_.post([this, target, trigger, done = std::move(done)]() mutable {
      MetricReading reading;
      if (const auto value = Read(*trigger, target)) {
        reading.answer.values.push_back(Milli(*value));
      } else {
        reading.answer.error = value.error().message;
      }
      done(std::move(reading));
    });
  };
}

base::Result<double> KedaReaders::Read(const keda::Trigger& trigger, int64_t target_milli) const {
  if (auto known = parts_.known(trigger.ns); !known) {
    return std::unexpected(std::move(known.error()));
  }
  const auto spec = parts_.scaler.SpecOf(trigger);
  if (!spec) return std::unexpected(spec.error());
  // A value in the unit of another target would be nonsense.
  if (Milli(spec->target) != target_milli) {
    return Fail(Code::kUnavailable,
                "the HPA's target is not the trigger's: KEDA has not written "
                "it yet");
  }
  return parts_.scaler.ValueOf(trigger);
}

}  // namespace activescale::app
