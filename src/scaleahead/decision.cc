#include "scaleahead/decision.h"

#include <algorithm>
#include <string_view>

namespace activescale::scaleahead {
namespace {

using base::SteadyTime;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// One step a second for each target.
constexpr seconds kStepInterval{1};
/// After somebody scaled down the controller has its say first: one of its syncs.
constexpr seconds kAfterDown{15};
/// How late an expected push may be before it is not waited for any more.
constexpr milliseconds kPushSlack{100};

bool KedaPaused(const kube::HpaObject& hpa) {
  for (const std::string_view name : {"paused", "paused-scale-out"}) {
    const auto found = hpa.annotations.find(std::string("autoscaling.keda.sh/").append(name));
    if (found != hpa.annotations.end() && found->second != "false") return true;
  }
  return hpa.annotations.contains("autoscaling.keda.sh/paused-replicas");
}

seconds UpWindow(const hpa::HpaSpec& spec) {
  if (!spec.behavior) return seconds(0);
  return seconds(spec.behavior->up.stabilization_window_seconds.value_or(0));
}

/// The moment at which the last of the pods that have not pushed since `rise` is expected to; at
/// most a step's interval after `rise`, else nothing, as for nobody to wait for. Where the pods are
/// not told, any may push within that interval: a step by the first alone would be a small one, and
/// its new pods would keep the next one waiting.
std::optional<SteadyTime> LastExpected(const std::vector<PodTime>& times, const Memory& memory,
                                       SteadyTime rise) {
  if (times.empty()) return rise + kStepInterval;
  std::optional<SteadyTime> last;
  for (const PodTime& time : times) {
    if (time.received >= rise) continue;
    const auto next = memory.NextOf(time);
    if (!next || *next > rise + kStepInterval) return std::nullopt;
    last = std::max(last.value_or(*next), *next);
  }
  return last;
}

/// Whether load that new pods took over may still be in the older values of others, too.
bool MayCountTwice(const View& view, const MetricFacts& facts, const Memory& memory) {
  if (facts.times.empty()) return view.settling;
  return std::ranges::any_of(facts.times, [&memory](const PodTime& time) {
    return time.busy && time.received < memory.joined();
  });
}

SteadyTime NewestOf(const std::vector<PodTime>& times, SteadyTime now) {
  if (times.empty()) return now;
  return std::ranges::max(times, {}, &PodTime::received).received;
}

/// What the metrics ask for, whatever the limits. Fills all of `out` but for what limits decide.
Hold Propose(const View& view, Memory& memory, SteadyTime now, AheadDecision* out) {
  std::vector<PodTime> times;
  bool ours = false;
  for (const MetricFacts& facts : view.facts) {
    if (facts.ours && facts.partial) return Hold::kPartial;
    ours = ours || facts.ours;
    times.insert(times.end(), facts.times.begin(), facts.times.end());
  }
  if (!ours) return Hold::kNoMetricOfOurs;
  memory.OnTimes(times);
  hpa::Autoscaler controller;
  const hpa::Decision decision = controller.Reconcile(view.spec, view.seen, WallOf(now));
  if (decision.failed || decision.winner < 0) return Hold::kNoDecision;
  out->metric = static_cast<size_t>(decision.winner);
  out->value_milli = decision.proposals[out->metric].usage_milli;
  out->to = decision.proposed;
  return Hold::kNone;
}

/// What of ours stands in the way of a step now.
Hold CheckMemory(const View& view, const Memory& memory, SteadyTime now) {
  if (memory.broken_until() > now) return Hold::kBroken;
  if (memory.back_off_until() > now) return Hold::kBackOff;
  if (memory.since() + Memory::LookBack(view.spec) > now) return Hold::kWarmingUp;
  if (memory.last_down() > now - kAfterDown) return Hold::kRecentDown;
  if (memory.last_change() > now - kStepInterval) return Hold::kRecentChange;
  return Hold::kNone;
}

}  // namespace

Gate CheckHpa(const kube::HpaObject& hpa, Mode process) {
  const auto asked = hpa.annotations.find(kAnnotation);
  if (process == Mode::kOff || asked == hpa.annotations.end() || asked->second == "false") {
    return {Mode::kOff, Hold::kNotAsked};
  }
  if (asked->second != "true" && asked->second != "observe") {
    return {Mode::kOff, Hold::kBadAnnotation};
  }
  if (hpa.deleting) return {Mode::kOff, Hold::kDeleting};
  const kube::Condition* active = hpa.FindCondition("ScalingActive");
  if (active == nullptr || active->status != "True") return {Mode::kOff, Hold::kInactive};
  if (KedaPaused(hpa)) return {Mode::kOff, Hold::kKedaPaused};
  const bool on = process == Mode::kOn && asked->second == "true";
  return {on ? Mode::kOn : Mode::kObserve, Hold::kNone};
}

Hold CheckTarget(const kube::HpaObject& hpa, const Target& target) {
  if (target.paused) return Hold::kTargetPaused;
  if (target.spec_replicas == 0) return Hold::kZero;
  if (target.spec_replicas < hpa.spec.min_replicas ||
      target.spec_replicas > hpa.spec.max_replicas) {
    return Hold::kOutsideRange;
  }
  return Hold::kNone;
}

AheadDecision Decide(const View& view, Memory& memory, SteadyTime now) {
  AheadDecision out;
  const int32_t current = view.seen.spec_replicas;
  out.from = current;
  const auto hold = [&](Hold why, std::optional<SteadyTime> again = std::nullopt) {
    out.hold = why;
    out.to = current;
    out.look_again = again;
    return out;
  };
  if (const Hold why = Propose(view, memory, now, &out); why != Hold::kNone) return hold(why);
  const int32_t proposed = out.to;
  const int32_t stabilized = memory.Stabilize(proposed, UpWindow(view.spec), now);
  if (proposed <= current) {
    memory.rising_since.reset();
    return hold(Hold::kNotAbove);
  }
  const MetricFacts& facts = view.facts[out.metric];
  if (!memory.rising_since) memory.rising_since = NewestOf(facts.times, now);
  out.pushed = *memory.rising_since;
  const SteadyTime later = now + kStepInterval;
  if (const Hold why = CheckMemory(view, memory, now); why != Hold::kNone) {
    return hold(why, why == Hold::kRecentChange ? memory.last_change() + kStepInterval : later);
  }
  if (stabilized <= current) return hold(Hold::kStabilized, later);
  const int32_t most = std::min(view.spec.max_replicas, memory.UpLimit(view.spec, current, now));
  if (most <= current) return hold(Hold::kUpLimit, later);
  if (MayCountTwice(view, facts, memory)) return hold(Hold::kJoining, later);
  const auto expected = LastExpected(facts.times, memory, *memory.rising_since);
  if (expected && now < *expected + kPushSlack) {
    return hold(Hold::kGathering, *expected + kPushSlack);
  }
  out.to = std::min(stabilized, most);
  return out;
}

}  // namespace activescale::scaleahead
