#include "hpa/replica_calculator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace activescale::hpa {
namespace {

using Samples = std::map<std::string, int64_t>;

/// Go's addition wraps; C++'s must not overflow.
int64_t WrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

Proposal Invalid(std::string error, PodGroups pods = {}) {
  Proposal proposal;
  proposal.error = std::move(error);
  proposal.pods = std::move(pods);
  return proposal;
}

/// CPU samples of a pod that starts are noise: whether this one is still to be left out.
bool CpuUnsettled(const Pod& pod, const PodSample& sample, const ReplicaInput& in) {
  if (!pod.ready || !pod.started) return true;
  if (*pod.started + in.options.cpu_initialization_period > in.now) {
    return !*pod.ready || sample.timestamp < pod.ready_since + sample.window;
  }
  return !*pod.ready && *pod.started + in.options.initial_readiness_delay > pod.ready_since;
}

PodGroups GroupPods(const ReplicaInput& in) {
  const bool cpu = in.spec.type == MetricType::kResource && in.spec.name == "cpu";
  PodGroups groups;
  for (const Pod& pod : in.pods) {
    if (pod.deleting || pod.phase == PodPhase::kFailed) {
      groups.ignored.push_back(pod.name);
      continue;
    }
    if (pod.phase == PodPhase::kPending) {
      groups.unready.push_back(pod.name);
      continue;
    }
    const auto sample = in.answer.by_pod.find(pod.name);
    if (sample == in.answer.by_pod.end()) {
      groups.missing.push_back(pod.name);
    } else if (cpu && CpuUnsettled(pod, sample->second, in)) {
      groups.unready.push_back(pod.name);
    } else {
      groups.counted.push_back(pod.name);
    }
  }
  return groups;
}

struct Usage {
  double ratio = 0;
  int64_t mean = 0;
};

/// Usage against the target over `samples`: by a plain mean, or by utilization of requests.
class UsageMeter {
 public:
  explicit UsageMeter(const ReplicaInput& in) : in_(in) {}

  [[nodiscard]] bool by_requests() const {
    return in_.spec.type == MetricType::kResource &&
           in_.spec.target_type == TargetType::kUtilization;
  }

  /// Why utilization cannot be computed; nothing if it can.
  [[nodiscard]] std::optional<std::string> FaultOfRequests() const {
    for (const Pod& pod : in_.pods) {
      if (!in_.answer.requests_milli.contains(pod.name)) {
        return "missing request for " + in_.spec.name + " in a container of pod " + pod.name;
      }
    }
    return std::nullopt;
  }

  /// Nothing if no sample belongs to a pod with a request.
  [[nodiscard]] std::optional<Usage> Measure(const Samples& samples) const {
    int64_t total = 0;
    if (!by_requests()) {
      for (const auto& [pod, value] : samples) total = WrappingAdd(total, value);
      const int64_t mean = total / static_cast<int64_t>(samples.size());
      return Usage{static_cast<double>(mean) / static_cast<double>(in_.spec.target), mean};
    }
    int64_t requested = 0;
    int64_t count = 0;
    for (const auto& [pod, value] : samples) {
      const auto request = in_.answer.requests_milli.find(pod);
      if (request == in_.answer.requests_milli.end()) continue;
      total = WrappingAdd(total, value);
      requested = WrappingAdd(requested, request->second);
      ++count;
    }
    if (requested == 0) return std::nullopt;
    const auto percent = static_cast<int32_t>(total * 100 / requested);
    const double ratio =
        static_cast<double>(percent) / static_cast<double>(static_cast<int32_t>(in_.spec.target));
    return Usage{ratio, total / count};
  }

  /// What a missing pod counts as when the others ask for fewer replicas.
  [[nodiscard]] int64_t AtTarget(const std::string& pod) const {
    if (!by_requests()) return in_.spec.target;
    const auto request = in_.answer.requests_milli.find(pod);
    return (request == in_.answer.requests_milli.end() ? 0 : request->second) *
           std::max<int64_t>(100, in_.spec.target) / 100;
  }

 private:
  const ReplicaInput& in_;
};

Proposal FromPods(const ReplicaInput& in) {
  if (in.pods.empty()) {
    return Invalid("no pods returned by selector while calculating replica count");
  }
  Proposal out;
  out.pods = GroupPods(in);
  Samples samples;
  for (const auto& [pod, sample] : in.answer.by_pod) samples.emplace(pod, sample.value_milli);
  for (const std::string& pod : out.pods.ignored) samples.erase(pod);
  for (const std::string& pod : out.pods.unready) samples.erase(pod);
  if (samples.empty()) {
    return Invalid("did not receive metrics for targeted pods (pods might be unready)",
                   std::move(out.pods));
  }

  const UsageMeter meter(in);
  if (meter.by_requests()) {
    if (auto error = meter.FaultOfRequests()) {
      return Invalid(std::move(*error), std::move(out.pods));
    }
  }
  const std::optional<Usage> usage = meter.Measure(samples);
  if (!usage) return Invalid("no metrics returned matched known pods", std::move(out.pods));
  out.ratio = out.adjusted_ratio = usage->ratio;
  out.usage_milli = usage->mean;
  out.replicas = in.spec_replicas;

  const bool up_with_unready = !out.pods.unready.empty() && out.ratio > 1.0;
  if (!up_with_unready && out.pods.missing.empty()) {
    out.within_tolerance = in.tolerance.Covers(out.ratio);
    if (!out.within_tolerance) {
      out.replicas = GoInt32(std::ceil(out.ratio * static_cast<double>(out.pods.counted.size())));
    }
    return out;
  }

  // Missing pods damp the change: as if at target on the way down, idle on the way up.
  for (const std::string& pod : out.pods.missing) {
    if (out.ratio < 1.0) samples[pod] = meter.AtTarget(pod);
    if (out.ratio > 1.0) samples[pod] = 0;
  }
  if (up_with_unready) {
    for (const std::string& pod : out.pods.unready) samples[pod] = 0;
  }
  const std::optional<Usage> adjusted = meter.Measure(samples);
  if (!adjusted) return Invalid("no metrics returned matched known pods", std::move(out.pods));
  out.adjusted_ratio = adjusted->ratio;
  out.within_tolerance = in.tolerance.Covers(out.adjusted_ratio);
  const bool turned = (out.ratio < 1.0 && out.adjusted_ratio > 1.0) ||
                      (out.ratio > 1.0 && out.adjusted_ratio < 1.0);
  if (out.within_tolerance || turned) return out;
  const int32_t replicas =
      GoInt32(std::ceil(out.adjusted_ratio * static_cast<double>(samples.size())));
  const bool against = (out.adjusted_ratio < 1.0 && replicas > in.spec_replicas) ||
                       (out.adjusted_ratio > 1.0 && replicas < in.spec_replicas);
  if (!against) out.replicas = replicas;
  return out;
}

/// Object and External against a Value: the ratio scales the pods that serve now.
Proposal FromValue(const ReplicaInput& in, int64_t usage) {
  Proposal out;
  out.usage_milli = usage;
  out.ratio = static_cast<double>(usage) / static_cast<double>(in.spec.target);
  out.adjusted_ratio = out.ratio;
  if (in.spec_replicas == 0) {
    out.replicas = GoInt32(std::ceil(out.ratio));
    return out;
  }
  out.within_tolerance = in.tolerance.Covers(out.ratio);
  if (out.within_tolerance) {
    out.replicas = in.spec_replicas;
    return out;
  }
  if (in.pods.empty()) {
    return Invalid("no pods returned by selector while calculating replica count");
  }
  for (const Pod& pod : in.pods) {
    const bool ready = pod.phase == PodPhase::kRunning && pod.ready.value_or(false);
    (ready ? out.pods.counted : out.pods.ignored).push_back(pod.name);
  }
  const double replicas = out.ratio * static_cast<double>(out.pods.counted.size());
  out.replicas = replicas > std::numeric_limits<int32_t>::max()
                     ? std::numeric_limits<int32_t>::max()
                     : GoInt32(std::ceil(replicas));
  return out;
}

/// Object and External against an AverageValue: the sum is shared out, whoever serves now.
Proposal FromAverageValue(const ReplicaInput& in, int64_t usage) {
  Proposal out;
  const auto total = static_cast<double>(usage);
  const auto target = static_cast<double>(in.spec.target);
  out.ratio = total / (target * static_cast<double>(in.status_replicas));
  out.adjusted_ratio = out.ratio;
  out.within_tolerance = in.tolerance.Covers(out.ratio);
  out.replicas = in.status_replicas;
  if (!out.within_tolerance) {
    const double replicas = std::ceil(total / target);
    const bool capped =
        in.spec.type == MetricType::kExternal && replicas > std::numeric_limits<int32_t>::max();
    out.replicas = capped ? std::numeric_limits<int32_t>::max() : GoInt32(replicas);
  }
  out.usage_milli =
      in.status_replicas == 0
          ? usage
          : static_cast<int64_t>(std::ceil(total / static_cast<double>(in.status_replicas)));
  return out;
}

/// The sum over an External metric's series. Against a Value the controller caps before it
/// overflows, against an AverageValue any negative sum counts as overflown.
int64_t SumCapped(const std::vector<int64_t>& values, TargetType target_type) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t sum = 0;
  for (const int64_t value : values) {
    if (target_type == TargetType::kValue) {
      if (value > 0 && sum > kMax - value) return kMax;
      sum = WrappingAdd(sum, value);
    } else {
      sum = WrappingAdd(sum, value);
      if (sum < 0) return kMax;
    }
  }
  return sum;
}

}  // namespace

int32_t GoInt32(double value) {
  constexpr double kTooLarge = 2147483648.0;
  if (!(value > -kTooLarge - 1.0 && value < kTooLarge)) return std::numeric_limits<int32_t>::min();
  return static_cast<int32_t>(value);
}

Proposal ProposeReplicas(const ReplicaInput& input) {
  if (input.answer.error) return Invalid(*input.answer.error);
  if (input.spec.type == MetricType::kPods || input.spec.type == MetricType::kResource) {
    return FromPods(input);
  }
  if (input.spec.target_type == TargetType::kUtilization) {
    return Invalid("neither a value target nor an average value target was set");
  }
  if (input.spec.type == MetricType::kObject && input.answer.values.size() != 1) {
    return Invalid("an Object metric takes exactly one value");
  }
  const int64_t usage = input.spec.type == MetricType::kObject
                            ? input.answer.values.front()
                            : SumCapped(input.answer.values, input.spec.target_type);
  return input.spec.target_type == TargetType::kValue ? FromValue(input, usage)
                                                      : FromAverageValue(input, usage);
}

}  // namespace activescale::hpa
