#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "kube/pod_index.h"
#include "metric/metric_kind.h"
#include "metric/selector.h"
#include "metricsapi/metric_value_list.h"
#include "metricsapi/request_target.h"
#include "net/http_types.h"
#include "signal/window_reader.h"
#include "store/sample_store.h"
#include "telemetry/registry.h"

namespace activescale::metricsapi {

/// What a metric selector asks for a window by.
inline constexpr std::string_view kWindowKey = "window";
inline constexpr std::string_view kStatKey = "stat";

/// A read of the Custom Metrics API: one metric of pods, or of one object.
struct CustomMetricsQuery {
  CustomMetricsVersion version = CustomMetricsVersion::kV1Beta2;
  std::string ns;
  std::string resource;  // "pods", "deployments.apps"
  std::string name;      // "*" for the pods that `pod_selector` matches
  metric::MetricKind metric = metric::MetricKind::kInboundActiveRequests;
  metric::Selector pod_selector;
  metric::Selector metric_selector;  // on the labels of the metric itself
  /// Of `window=2m,stat=p75` in metric_selector; nothing for the newest value.
  std::optional<signal::WindowStatistic> window;
};

/// What a read found, before it is written down.
struct CustomMetricsAnswer {
  struct Pod {
    std::string name;
    metric::Quantity value;
    base::SteadyTime received;  // of the sample, or of the heartbeat of a zero
  };
  std::vector<Pod> pods;                // those with telemetry, in order of name
  std::optional<metric::Quantity> sum;  // over `pods`, when an object was asked for
  bool partial = false;                 // a part of the store did not answer; its pods are left out
};

/// Reads a query from /apis/custom.metrics.k8s.io/<version>/... Errors: kInvalidArgument for a bad
/// namespace, name or selector and for parameters that would narrow the answer and are not
/// supported; kNotFound, naming the cause, for objects and metrics that are not served.
[[nodiscard]] base::Result<CustomMetricsQuery> ParseCustomMetricsQuery(const RequestTarget& target);

/// Answers reads of the Custom Metrics API from the store, about the pods that the index names.
///
/// Pods: one item for each pod with a value or a heartbeat zero; pods without telemetry are left
/// out, which the HPA handles with care (it assumes what hurts least). No pod matched: an empty
/// list. None of the matched ones has telemetry: 404 with the cause, never zeros.
///
/// An object (a workload, a Service): the sum over its pods. A sum that leaves a silent pod out is
/// too small, and the HPA would scale in by it, so one silent pod makes the sum 404. Only a pod
/// that is just starting counts as nothing: a scale-out must not stop itself. Pods from Envoy's
/// node metadata have no readiness, so there the index alone says which pods exist.
///
/// With a window: the statistic of each pod's window, or that of the sum over the workload. Which
/// pods are there and which are silent is decided by the present moment, as without.
///
/// Whatever could not be looked up (store away, index not complete) is 503, never an empty list.
class CustomMetrics {
 public:
  /// All of them must outlive this and every answer.
  CustomMetrics(const kube::PodIndex& pods, store::SampleStore& samples,
                const signal::WindowReader& windows, const base::Clock& clock,
                telemetry::Registry& registry);

  /// Threads: any; `respond` runs on the caller's thread or one of the store's or the index's.
  void Read(CustomMetricsQuery query, net::HttpResponder respond);

  using Answered = std::move_only_function<void(base::Result<CustomMetricsAnswer>)>;
  /// The same as numbers. Threads: as Read.
  void ReadValues(std::shared_ptr<const CustomMetricsQuery> query, Answered done);

  /// Values served as 0 until now for want of a sample, for the summary in the log.
  [[nodiscard]] double synthesized_zeros() const { return synthesized_zeros_.Value(); }

 private:
  using Query = std::shared_ptr<const CustomMetricsQuery>;
  void ReadPods(Query query, std::vector<metric::PodKey> pods, Answered done);
  void ReadObject(Query query, Answered done);
  [[nodiscard]] base::Result<CustomMetricsAnswer> AnswerPods(
      const CustomMetricsQuery& query, const std::vector<metric::PodKey>& pods,
      const store::ReadResult& result) const;
  [[nodiscard]] base::Result<CustomMetricsAnswer> AnswerObject(
      const CustomMetricsQuery& query, const std::vector<kube::WorkloadPod>& pods,
      const store::ReadResult& result) const;
  /// Puts the window's values in place of the newest ones; pods without a sample are missing.
  [[nodiscard]] base::Result<store::ReadResult> WithWindows(const CustomMetricsQuery& query,
                                                            const std::vector<metric::PodKey>& pods,
                                                            store::ReadResult result) const;
  /// Counts a reading that is served.
  void Observe(const store::PodReading& reading, base::SteadyTime now) const;

  const kube::PodIndex& pods_;
  store::SampleStore& samples_;
  const signal::WindowReader& windows_;
  const base::Clock& clock_;
  telemetry::Counter& synthesized_zeros_;
  telemetry::Counter& saturated_sums_;
  telemetry::Histogram& freshness_;
};

}  // namespace activescale::metricsapi
