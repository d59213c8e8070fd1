#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "kube/object_numbers.h"
#include "metric/labels.h"
#include "series/series_store.h"
#include "telemetry/registry.h"

namespace activescale::signal {

/// Makes series of the replicas of HPAs and Deployments, under the names and labels of
/// kube-state-metrics, for what some selector asks for; and tells how long each HPA has been at its
/// maximum. All replicas of ours take their samples at the same moments.
/// Source: kubernetes/kube-state-metrics:docs/metrics/workload.
/// Threads: one at a time.
class ScaleFeed {
 public:
  /// Between two samples.
  static constexpr std::chrono::milliseconds kInterval{5'000};

  /// Where the numbers come from, in the order of kube::ScaleWatch's enums, and whether they are
  /// fresh now: else there are no samples.
  struct Source {
    const kube::ObjectNumbers& hpas;
    const kube::ObjectNumbers& deployments;
    std::function<bool()> fresh;
  };

  ScaleFeed(Source source, series::SeriesStore& series, const base::Clock& clock,
            telemetry::Registry& registry);

  /// What there is to tell of the series.
  [[nodiscard]] static std::vector<series::MetricMetadata> Metadata();

  /// To be called about once a second.
  void Tick();

 private:
  struct Number {
    std::string_view series;
    std::string_view help;
  };
  /// A kind of objects, the label that names one, and the series of its numbers.
  struct Kind {
    std::string_view label;
    std::vector<Number> numbers;
  };
  using Name = std::pair<std::string, std::string>;  // namespace and name

  [[nodiscard]] static const Kind& HpaKind();
  [[nodiscard]] static const Kind& DeploymentKind();
  [[nodiscard]] static metric::Labels LabelsOf(const Kind& kind, size_t number, const Name& name);
  void Append(const Kind& kind, const std::vector<kube::ObjectNumbers::Object>& objects,
              int64_t time_ms, std::map<Name, int64_t>& seen);
  void WatchMaximum(const std::vector<kube::ObjectNumbers::Object>& hpas);

  const Source source_;
  series::SeriesStore& series_;
  const base::Clock& clock_;
  telemetry::Registry& registry_;

  int64_t sampled_ms_ = 0;
  std::map<Name, int64_t> seen_hpas_;  // the sample that last had each
  std::map<Name, int64_t> seen_deployments_;
  struct AtMaximum {
    telemetry::Gauge* seconds;
    base::SteadyTime since;
    bool known = false;
  };
  std::map<Name, AtMaximum> at_maximum_;
};

}  // namespace activescale::signal
