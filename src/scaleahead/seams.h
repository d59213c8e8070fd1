#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "hpa/types.h"
#include "kube/hpa_object.h"
#include "metric/pod_key.h"
#include "metric/selector.h"
#include "scaleahead/decision.h"

namespace activescale::scaleahead {

/// What the controller would be told of one metric, and what stands behind it.
struct MetricReading {
  hpa::MetricAnswer answer;
  MetricFacts facts;  // but for PodTime::fresh
};

/// Reads one metric of one HPA. `done` runs exactly once, on any thread.
using MetricReader = std::function<void(std::move_only_function<void(MetricReading)> done)>;

/// A pod of a target.
struct TargetPod {
  hpa::Pod pod;
  std::optional<base::SteadyTime> ready_since;  // nothing: it is not ready
};

/// What a Runner gets to know the world by, but for what is brought to it. Threads: its own.
struct Seams {
  /// How to ask for a metric of an HPA whose target's pods `pods` selects; never empty. Called when
  /// the HPA, its target's selector or what a metric comes from changes. Errors: kUnavailable: it
  /// is not known yet whether it is one of ours; else why it is not.
  std::function<base::Result<MetricReader>(const kube::HpaObject& hpa, size_t metric,
                                           const std::string& pods)>
      reader_of;
  /// Terminating pods too. Errors: the pods are not known now.
  std::function<base::Result<std::vector<TargetPod>>(std::string_view ns, const metric::Selector&)>
      pods_of;
  /// The workload that a pod belongs to; nothing if it is not known yet.
  std::function<std::optional<std::string>(metric::PodKeyView pod)> workload_of;
  /// Whether this replica is the one that acts for an HPA. `key` is "namespace/name".
  std::function<bool(std::string_view key)> acts_for;
  /// Whether the watches of a namespace are fresh enough to act on.
  std::function<bool(std::string_view ns)> watches_fresh;
  /// A step was taken for an HPA, by this replica or another one: its new pods will take over load.
  std::function<void(const kube::HpaObject& hpa, const metric::Selector& pods)> stepped;
  /// The circuit of an HPA opened: its steps were undone.
  std::function<void(const kube::HpaObject& hpa)> broken;
  /// Runs work on the runner's thread, after this call. Threads: any.
  std::function<void(std::move_only_function<void()>)> post;
};

}  // namespace activescale::scaleahead
