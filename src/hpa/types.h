#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

/// The arithmetic of Kubernetes' HorizontalPodAutoscaler controller as pure functions.
/// Source of every rule in this module: kubernetes/kubernetes@v1.36.3,
/// pkg/controller/podautoscaler/{horizontal,replica_calculator}.go, metrics/utilization.go and
/// pkg/apis/autoscaling/v2/defaults.go; tests/hpa compares it with that code.
/// All values are milli-units in int64 and replica counts int32, as there. Moments are WallTime.
namespace activescale::hpa {

enum class PodPhase : uint8_t { kPending, kRunning, kSucceeded, kFailed, kUnknown };

/// What the controller looks at in a pod.
struct Pod {
  std::string name;
  PodPhase phase = PodPhase::kRunning;
  bool deleting = false;
  /// Condition Ready: its status, absent if the pod has none.
  std::optional<bool> ready = true;
  /// When `ready` last changed; looked at for the CPU metric only.
  base::WallTime ready_since{};
  std::optional<base::WallTime> started;
};

enum class MetricType : uint8_t { kPods, kObject, kExternal, kResource };
enum class TargetType : uint8_t { kValue, kAverageValue, kUtilization };

/// One entry of spec.metrics.
struct MetricSpec {
  MetricType type = MetricType::kPods;
  TargetType target_type = TargetType::kAverageValue;
  int64_t target = 1;  // milli-units; percent for kUtilization
  std::string name;    // metric, or resource ("cpu", "memory")
};

/// One pod's sample of a Pods or Resource metric. `timestamp` and `window` matter for CPU only.
struct PodSample {
  int64_t value_milli = 0;
  base::WallTime timestamp{};
  std::chrono::seconds window{60};
};

/// What the metrics API answered for one MetricSpec.
struct MetricAnswer {
  std::optional<std::string> error;         // the call failed: why
  std::map<std::string, PodSample> by_pod;  // kPods, kResource
  std::vector<int64_t> values;              // kObject: one; kExternal: any number
  /// kResource against a kUtilization: what each pod requests of the resource, all containers
  /// together. A pod without an entry makes the metric invalid.
  std::map<std::string, int64_t> requests_milli;
};

/// How far a ratio may be from 1 without a change.
struct Tolerance {
  double up = 0.1;
  double down = 0.1;
  [[nodiscard]] bool Covers(double ratio) const {
    return (1.0 - down) <= ratio && ratio <= (1.0 + up);
  }
};

enum class PolicyType : uint8_t { kPods, kPercent };
enum class SelectPolicy : uint8_t { kMax, kMin, kDisabled };

struct Policy {
  PolicyType type = PolicyType::kPercent;
  int32_t value = 100;
  int32_t period_seconds = 15;
};

/// spec.behavior.scaleUp or scaleDown, defaults filled in.
struct ScalingRules {
  std::optional<int32_t> stabilization_window_seconds;  // absent on scaleDown: the controller's
  SelectPolicy select = SelectPolicy::kMax;
  std::vector<Policy> policies;
  std::optional<double> tolerance;

  /// What the apiserver fills in for a missing scaleUp: no window; 4 pods or 100 % in 15 s.
  [[nodiscard]] static ScalingRules DefaultUp();
  /// What the apiserver fills in for a missing scaleDown: the controller's window; 100 % in 15 s.
  [[nodiscard]] static ScalingRules DefaultDown();
};

struct Behavior {
  ScalingRules up = ScalingRules::DefaultUp();
  ScalingRules down = ScalingRules::DefaultDown();
};

/// The parts of an HPA's spec that decide.
struct HpaSpec {
  int32_t min_replicas = 1;
  int32_t max_replicas = 1;
  std::vector<MetricSpec> metrics;
  std::optional<Behavior> behavior;
};

/// The controller's own flags (kube-controller-manager) and feature gates.
struct ControllerOptions {
  double tolerance = 0.1;
  std::chrono::seconds downscale_stabilization{300};
  std::chrono::seconds cpu_initialization_period{300};
  std::chrono::seconds initial_readiness_delay{30};
  bool configurable_tolerance = true;  // gate HPAConfigurableTolerance, on since 1.35
  bool scale_to_zero = false;          // gate HPAScaleToZero, off in 1.36
};

}  // namespace activescale::hpa
