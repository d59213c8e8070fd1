#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace activescale::telemetry {

using Counter = prometheus::Counter;
using Gauge = prometheus::Gauge;
using Histogram = prometheus::Histogram;
using LabelMap = std::map<std::string, std::string>;

/// Our own metrics. A component asks for its handles once, in its constructor, and keeps the
/// references: they live as long as the registry. Names start with `activescale_` (or are those
/// that Prometheus has for processes) and follow Prometheus's rules; label values must come from a
/// bounded set, or of what is removed with them. Threads: any.
class Registry {
 public:
  Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// The same name and labels give the same handle; `help` of the first call is kept.
  Counter& AddCounter(const std::string& name, const std::string& help,
                      const LabelMap& labels = {});
  Gauge& AddGauge(const std::string& name, const std::string& help, const LabelMap& labels = {});
  /// Ends a gauge whose labels name something that is gone. Its handle must not be used any more.
  void RemoveGauge(const std::string& name, Gauge& gauge);
  Histogram& AddHistogram(const std::string& name, const std::string& help,
                          const std::vector<double>& buckets, const LabelMap& labels = {});

  /// `refresh` runs at the start of each scrape, to set gauges whose truth lives elsewhere.
  /// It must not call back into this registry's Add or Render and must outlive the registry's use.
  void AddRefresh(std::function<void()> refresh);

  /// The exposition in Prometheus's text format 0.0.4.
  [[nodiscard]] std::string Render();

 private:
  prometheus::Registry registry_{prometheus::Registry::InsertBehavior::Merge};
  base::Mutex mutex_;
  std::vector<std::function<void()>> refreshes_ GUARDED_BY(mutex_);
};

}  // namespace activescale::telemetry
