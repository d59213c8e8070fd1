#include "sim/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>

#include "hpa/autoscaler.h"
#include "scaleahead/decision.h"
#include "scaleahead/standing_store.h"
#include "sim/fleet.h"
#include "sim/flow.h"
#include "sim/kpa.h"
#include "sim/request_service.h"
#include "sim/signal.h"

namespace activescale::sim {
namespace {

base::WallTime At(double seconds) {
  return base::WallTime(std::chrono::milliseconds(std::llround(seconds * 1000)));
}

/// What the HPA controller sees of the fleet. `now` is the moment of the sync.
hpa::Observation See(const Scenario& scenario, const Fleet& fleet, Signal& signal, double now) {
  hpa::Observation seen{.spec_replicas = fleet.spec_replicas(),
                        .status_replicas = 0,
                        .pods = {},
                        .answers = {},
                        .selector_fault = ""};
  for (const FleetPod& pod : fleet.pods()) {
    const bool started = pod.ready_at <= now;
    const bool deleting = pod.deleted_at <= now;
    if (!deleting) ++seen.status_replicas;
    seen.pods.push_back({.name = Signal::PodName(pod),
                         .phase = started ? hpa::PodPhase::kRunning : hpa::PodPhase::kPending,
                         .deleting = deleting,
                         .ready = started,
                         .ready_since = At(std::min(now, pod.ready_at)),
                         .started = At(pod.created)});
  }
  for (const hpa::MetricSpec& metric : scenario.hpa.metrics) {
    seen.answers.push_back(signal.Answer(metric, fleet, now));
  }
  return seen;
}

/// Scales up at pushes, as scaleahead does; it has watched for long.
class AheadOfSyncs {
 public:
  explicit AheadOfSyncs(const Scenario& scenario)
      : scenario_(scenario), memory_(Steady(0) - std::chrono::hours(1)) {}

  void Act(double now, Fleet& fleet, Signal& signal) {
    const hpa::Observation seen = See(scenario_, fleet, signal, now);
    std::vector<scaleahead::MetricFacts> facts(scenario_.hpa.metrics.size());
    for (const Signal::Seen& time : signal.Times(fleet, now)) {
      facts[0].times.push_back(
          {.pod = Signal::PodName(*time.pod),
           .received = Steady(time.received),
           .busy = time.busy,
           .fresh = Steady(time.pod->ready_at) + scaleahead::Memory::kFreshPod > Steady(now)});
    }
    for (scaleahead::MetricFacts& other : facts) other.times = facts[0].times;
    const scaleahead::AheadDecision decision = scaleahead::Decide(
        {.spec = scenario_.hpa, .seen = seen, .facts = facts}, memory_, Steady(now));
    if (decision.hold != scaleahead::Hold::kNone) return;
    fleet.Scale(decision.to, now);
    OnChange(decision.from, decision.to, now);
    memory_.OnStep(decision.to, Steady(now));
    standing_ = seen.answers;
    stands_until_ = now + std::chrono::duration<double>(scaleahead::StandingStore::kTime).count();
  }
  void OnChange(int32_t from, int32_t to, double now) {
    memory_.OnChange(scenario_.hpa, from, to, Steady(now));
  }
  /// What the controller is told: nothing new while the pods of a step join.
  void Tell(double now, hpa::Observation* seen) const {
    if (now < stands_until_) seen->answers = standing_;
  }

 private:
  static base::SteadyTime Steady(double seconds) {
    return base::SteadyTime(std::chrono::milliseconds(std::llround(seconds * 1000)));
  }

  const Scenario& scenario_;
  scaleahead::Memory memory_;
  double stands_until_ = -1;
  std::vector<hpa::MetricAnswer> standing_;  // as scaleahead::StandingStore has it
};

/// Decides replicas at the moments at which the chosen autoscaler does.
class Decider {
 public:
  Decider(const Scenario& scenario, std::mt19937_64& random)
      : scenario_(scenario),
        autoscaler_(scenario.controller),
        next_(scenario.sync_phase >= 0
                  ? scenario.sync_phase
                  : std::uniform_real_distribution<double>(0, scenario.sync)(random)) {
    if (scenario.path.kind == PathKind::kKpa) {
      const double target = static_cast<double>(scenario.hpa.metrics.front().target) / 1000;
      kpa_.emplace(scenario.path, target, scenario.hpa.min_replicas, scenario.hpa.max_replicas);
      next_ = Kpa::kTick;
    }
    if (scenario.path.kind == PathKind::kPushAhead) ahead_.emplace(scenario);
  }

  /// Acts for every moment up to `now`.
  void Act(double now, const ServiceState& state, Fleet& fleet, Signal& signal) {
    while (next_ <= now) {
      if (kpa_) {
        fleet.Scale(kpa_->Tick(next_, state.in_flight, fleet.CountReady(next_)), next_);
        next_ += Kpa::kTick;
        continue;
      }
      hpa::Observation seen = See(scenario_, fleet, signal, next_);
      if (ahead_) ahead_->Tell(next_, &seen);
      const hpa::Decision decision = autoscaler_.Reconcile(scenario_.hpa, seen, At(next_));
      if (decision.rescaled) {
        const int32_t before = fleet.spec_replicas();
        fleet.Scale(decision.replicas, next_);
        if (ahead_) ahead_->OnChange(before, decision.replicas, next_);
      }
      next_ += scenario_.sync;
    }
    if (ahead_) ahead_->Act(now, fleet, signal);
  }

 private:
  const Scenario& scenario_;
  hpa::Autoscaler autoscaler_;
  std::optional<Kpa> kpa_;
  std::optional<AheadOfSyncs> ahead_;
  double next_;
};

std::unique_ptr<Service> MakeService(const Scenario& scenario, std::mt19937_64& random) {
  if (scenario.fidelity == Fidelity::kRequest) {
    return std::make_unique<RequestService>(scenario.service, random());
  }
  return std::make_unique<FlowService>(scenario.service);
}

}  // namespace

base::Result<void> CheckScenario(const Scenario& scenario) {
  const auto fail = [](std::string text) {
    return base::Fail(base::Code::kInvalidArgument, std::move(text));
  };
  if (scenario.load.points().empty()) return fail("the scenario has no load");
  if (!(scenario.service.latency > 0)) {
    return fail(fmt::format("latency is {} s; it must be above 0", scenario.service.latency));
  }
  if (!(scenario.step > 0) || !(scenario.sync > 0)) {
    return fail(
        fmt::format("step ({} s) and sync ({} s) must be above 0", scenario.step, scenario.sync));
  }
  if (scenario.hpa.metrics.empty()) return fail("the HPA has no metrics");
  if (scenario.hpa.max_replicas < std::max(1, scenario.hpa.min_replicas)) {
    return fail(fmt::format("maxReplicas {} is below minReplicas {}", scenario.hpa.max_replicas,
                            scenario.hpa.min_replicas));
  }
  const SignalPath& path = scenario.path;
  if (!(path.flush > 0) || !(path.scrape > 0)) return fail("flush and scrape must be above 0 s");
  if (IsPush(path.kind) && path.ttl < path.flush) {
    return fail(
        fmt::format("ttl {} s is below the flush interval of {} s: every value would expire "
                    "before the next",
                    path.ttl, path.flush));
  }
  return {};
}

base::Result<Run> Simulate(const Scenario& scenario) {
  if (auto ok = CheckScenario(scenario); !ok) return std::unexpected(ok.error());
  std::mt19937_64 random(scenario.seed);
  const int32_t initial = scenario.initial_replicas > 0 ? scenario.initial_replicas
                                                        : std::max(1, scenario.hpa.min_replicas);
  Fleet fleet(scenario.service, initial, random);
  Signal signal(scenario.path, random);
  const std::unique_ptr<Service> service = MakeService(scenario, random);
  Decider decider(scenario, random);
  Run run;
  const double end = scenario.load.duration_seconds();
  run.timeline.reserve(static_cast<size_t>(end / scenario.step) + 2);
  for (int64_t i = 1; static_cast<double>(i - 1) * scenario.step < end; ++i) {
    const double before = static_cast<double>(i - 1) * scenario.step;
    const double now = static_cast<double>(i) * scenario.step;
    const double qps = scenario.load.QpsAt(before);
    fleet.Advance(now);
    service->Step(before, now, qps, fleet);
    service->AddLatencies(run.latencies);
    signal.Observe(before, now, service->state(), fleet);
    decider.Act(now, service->state(), fleet, signal);
    run.timeline.push_back({.at = now,
                            .qps = qps,
                            .in_flight = service->state().in_flight,
                            .queued = service->queued(),
                            .latency = service->latency(),
                            .desired = fleet.spec_replicas(),
                            .ready = fleet.CountReady(now),
                            .serving = fleet.CountServing(now)});
  }
  run.refused = service->refused();
  return run;
}

}  // namespace activescale::sim
