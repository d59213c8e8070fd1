#include "hpa/scale_history.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hpa/replica_calculator.h"

namespace activescale::hpa {
namespace {

int32_t ChangeSince(const auto& changes, base::WallTime cutoff) {
  int32_t sum = 0;
  for (const auto& change : changes) {
    if (change.at > cutoff) sum += change.replicas;
  }
  return sum;
}

int32_t LongestPeriod(const ScalingRules& rules) {
  int32_t longest = 0;
  for (const Policy& policy : rules.policies) longest = std::max(longest, policy.period_seconds);
  return longest;
}

Normalized LimitByRules(const HpaSpec& spec, int32_t current, int32_t stabilized) {
  Normalized out{.replicas = stabilized, .stabilized = stabilized};
  const int32_t up_limit = DefaultScaleUpLimit(current);
  const bool rate_limited = spec.max_replicas > up_limit;
  const int32_t most = rate_limited ? up_limit : spec.max_replicas;
  if (stabilized < spec.min_replicas) {
    out.replicas = spec.min_replicas;
    out.limit = Limit::kTooFewReplicas;
  } else if (stabilized > most) {
    out.replicas = most;
    out.limit = rate_limited ? Limit::kScaleUpLimit : Limit::kTooManyReplicas;
  }
  return out;
}

}  // namespace

ScalingRules ScalingRules::DefaultUp() {
  return {.stabilization_window_seconds = 0,
          .select = SelectPolicy::kMax,
          .policies = {{PolicyType::kPods, 4, 15}, {PolicyType::kPercent, 100, 15}},
          .tolerance = std::nullopt};
}

ScalingRules ScalingRules::DefaultDown() {
  return {.stabilization_window_seconds = std::nullopt,
          .select = SelectPolicy::kMax,
          .policies = {{PolicyType::kPercent, 100, 15}},
          .tolerance = std::nullopt};
}

int32_t DefaultScaleUpLimit(int32_t current) {
  return GoInt32(std::max(2.0 * static_cast<double>(current), 4.0));
}

void ScaleHistory::Begin(int32_t current_replicas, base::WallTime now) {
  if (recommendations_.empty()) recommendations_.push_back({current_replicas, now});
}

void ScaleHistory::Remember(int32_t desired, base::WallTime now, int old_index) {
  // The place of a recommendation that no window needs any more is used again.
  if (old_index >= 0) {
    recommendations_[static_cast<size_t>(old_index)] = {desired, now};
  } else {
    recommendations_.push_back({desired, now});
  }
}

int32_t ScaleHistory::StabilizeDown(int32_t desired, std::chrono::seconds window,
                                    base::WallTime now) {
  const base::WallTime cutoff = now - window;
  int32_t highest = desired;
  int old_index = -1;
  for (size_t i = 0; i < recommendations_.size(); ++i) {
    if (recommendations_[i].at < cutoff) {
      old_index = static_cast<int>(i);
    } else {
      highest = std::max(highest, recommendations_[i].replicas);
    }
  }
  Remember(desired, now, old_index);
  return highest;
}

int32_t ScaleHistory::Stabilize(const Behavior& behavior, const ControllerOptions& options,
                                int32_t current, int32_t desired, base::WallTime now) {
  const auto window = [](const std::optional<int32_t>& seconds, std::chrono::seconds fallback) {
    return seconds ? std::chrono::seconds(*seconds) : fallback;
  };
  const base::WallTime up_cutoff =
      now - window(behavior.up.stabilization_window_seconds, std::chrono::seconds(0));
  const base::WallTime down_cutoff =
      now - window(behavior.down.stabilization_window_seconds, options.downscale_stabilization);
  int32_t lowest = desired;
  int32_t highest = desired;
  int old_index = -1;
  for (size_t i = 0; i < recommendations_.size(); ++i) {
    const Recommendation& past = recommendations_[i];
    if (past.at > up_cutoff) lowest = std::min(lowest, past.replicas);
    if (past.at > down_cutoff) highest = std::max(highest, past.replicas);
    if (past.at < up_cutoff && past.at < down_cutoff) old_index = static_cast<int>(i);
  }
  Remember(desired, now, old_index);
  return std::min(std::max(current, lowest), highest);
}

int32_t ScaleHistory::PeriodStart(const Policy& policy, int32_t current, base::WallTime now) const {
  const base::WallTime cutoff = now - std::chrono::seconds(policy.period_seconds);
  return current - ChangeSince(ups_, cutoff) + ChangeSince(downs_, cutoff);
}

int32_t ScaleHistory::ScaleUpLimit(const ScalingRules& rules, int32_t current,
                                   base::WallTime now) const {
  if (rules.select == SelectPolicy::kDisabled) return current;
  const bool least = rules.select == SelectPolicy::kMin;
  int32_t limit = least ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int32_t>::min();
  for (const Policy& policy : rules.policies) {
    const int32_t start = PeriodStart(policy, current, now);
    const int32_t proposed =
        policy.type == PolicyType::kPods
            ? GoInt32(static_cast<double>(start) + policy.value)
            : GoInt32(std::ceil(start * (1.0 + static_cast<double>(policy.value) / 100.0)));
    limit = least ? std::min(limit, proposed) : std::max(limit, proposed);
  }
  return std::max(limit, current);
}

int32_t ScaleHistory::ScaleDownLimit(const ScalingRules& rules, int32_t current,
                                     base::WallTime now) const {
  if (rules.select == SelectPolicy::kDisabled) return current;
  const bool least = rules.select == SelectPolicy::kMin;
  int32_t limit = least ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max();
  for (const Policy& policy : rules.policies) {
    const int32_t start = PeriodStart(policy, current, now);
    const int32_t proposed =
        policy.type == PolicyType::kPods
            ? GoInt32(static_cast<double>(start) - policy.value)
            : GoInt32(start * (1.0 - static_cast<double>(policy.value) / 100.0));
    limit = least ? std::max(limit, proposed) : std::min(limit, proposed);
  }
  return std::min(limit, current);
}

Normalized ScaleHistory::LimitByBehavior(const HpaSpec& spec, int32_t current, int32_t stabilized,
                                         base::WallTime now) const {
  Normalized out{.replicas = stabilized, .stabilized = stabilized};
  if (stabilized > current) {
    const int32_t rate = ScaleUpLimit(spec.behavior->up, current, now);
    const bool rate_limited = spec.max_replicas > rate;
    const int32_t most = rate_limited ? rate : spec.max_replicas;
    if (stabilized > most) {
      out.replicas = most;
      out.limit = rate_limited ? Limit::kScaleUpLimit : Limit::kTooManyReplicas;
    }
  } else if (stabilized < current) {
    const int32_t rate = ScaleDownLimit(spec.behavior->down, current, now);
    const bool rate_limited = spec.min_replicas < rate;
    const int32_t least = rate_limited ? rate : spec.min_replicas;
    if (stabilized < least) {
      out.replicas = least;
      out.limit = rate_limited ? Limit::kScaleDownLimit : Limit::kTooFewReplicas;
    }
  }
  return out;
}

Normalized ScaleHistory::Normalize(const HpaSpec& spec, const ControllerOptions& options,
                                   int32_t current, int32_t desired, base::WallTime now) {
  if (!spec.behavior) {
    const int32_t stabilized = StabilizeDown(desired, options.downscale_stabilization, now);
    Normalized out = LimitByRules(spec, current, stabilized);
    if (stabilized != desired) out.stabilization = Stabilization::kScaleDownStabilized;
    return out;
  }
  const int32_t stabilized = Stabilize(*spec.behavior, options, current, desired, now);
  Normalized out = LimitByBehavior(spec, current, stabilized, now);
  if (stabilized != desired) {
    out.stabilization = desired >= current ? Stabilization::kScaleUpStabilized
                                           : Stabilization::kScaleDownStabilized;
  }
  return out;
}

void ScaleHistory::RecordScale(const HpaSpec& spec, int32_t from, int32_t to, base::WallTime now) {
  if (!spec.behavior) return;
  const bool up = to > from;
  const int32_t longest = LongestPeriod(up ? spec.behavior->up : spec.behavior->down);
  const base::WallTime cutoff = now - std::chrono::seconds(longest);
  std::vector<Change>& changes = up ? ups_ : downs_;
  Change* reusable = nullptr;
  for (Change& change : changes) {
    if (change.at < cutoff) change.outdated = true;
    if (change.outdated) reusable = &change;
  }
  const Change change{up ? to - from : from - to, now};
  if (reusable != nullptr) {
    *reusable = change;
  } else {
    changes.push_back(change);
  }
}

}  // namespace activescale::hpa
