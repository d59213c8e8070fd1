#include "telemetry/registry.h"

#include <prometheus/text_serializer.h>

namespace activescale::telemetry {

Counter& Registry::AddCounter(const std::string& name, const std::string& help,
                              const LabelMap& labels) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry_).Add(labels);
}

Gauge& Registry::AddGauge(const std::string& name, const std::string& help,
                          const LabelMap& labels) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry_).Add(labels);
}

void Registry::RemoveGauge(const std::string& name, Gauge& gauge) {
  prometheus::BuildGauge().Name(name).Register(registry_).Remove(&gauge);
}

Histogram& Registry::AddHistogram(const std::string& name, const std::string& help,
                                  const std::vector<double>& buckets, const LabelMap& labels) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_).Add(labels,
                                                                                    buckets);
}

void Registry::AddRefresh(std::function<void()> refresh) {
  base::MutexLock lock(mutex_);
  refreshes_.push_back(std::move(refresh));
}

std::string Registry::Render() {
  {
    base::MutexLock lock(mutex_);
    for (const auto& refresh : refreshes_) refresh();
  }
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

}  // namespace activescale::telemetry
