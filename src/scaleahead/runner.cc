#include "scaleahead/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/log.h"
#include "metric/quantity.h"
#include "scaleahead/fault.h"
#include "scaleahead/object_watch.h"

namespace activescale::scaleahead {
namespace {

using base::SteadyTime;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A metric without times of its pods waits this long after one became ready: two flush intervals
/// of Envoy's default.
constexpr seconds kSettling{10};
/// After a step that was refused, for reasons that do not go away by themselves.
constexpr seconds kRefusedWait{60};
constexpr seconds kGoneWait{5};
constexpr seconds kMaxPause{60};
/// Where it is not known yet what a metric comes from.
constexpr seconds kUnknownWait{1};
/// An observed step that nobody took for so long is no measure of earliness.
constexpr seconds kObservedTime{120};

std::string TargetKey(std::string_view ns, std::string_view resource, std::string_view name) {
  return std::string(ns).append("/").append(resource).append("/").append(name);
}
std::string TargetKey(const kube::HpaObject& hpa) {
  return TargetKey(hpa.ns, ResourceOfTarget(hpa.target.api_version, hpa.target.kind),
                   hpa.target.name);
}

}  // namespace

struct Runner::Entry {
  Entry(kube::HpaObject object, SteadyTime now) : hpa(std::move(object)), memory(now) {}

  kube::HpaObject hpa;
  Gate gate;
  std::vector<MetricReader> readers;  // one a metric; empty ones are not ours
  uint64_t asked = 0;                 // changes with the readers
  std::string not_ours;               // why readers are empty
  bool unknown = false;               // whether one of them is, for now
  std::string woken_by;               // what decides which pushes matter, in short
  Memory memory;
  bool dirty = true;
  uint64_t busy = 0;  // the generation of the round or step that is under way; 0: none
  SteadyTime looked = SteadyTime::min();
  std::optional<SteadyTime> look_again;
  std::string fault;  // as it was last told
  std::optional<State> shown;
  struct Observed {
    int32_t to;
    SteadyTime at;
  };
  std::optional<Observed> observed;
};

/// One look that is under way.
struct Runner::Round {
  std::string key;
  uint64_t generation = 0;
  uint64_t asked = 0;
  Step step;  // but for the replicas
  hpa::Observation seen;
  std::vector<MetricFacts> facts;
  std::set<std::string, std::less<>> fresh;  // pods
  bool settling = false;
  std::atomic<size_t> left{0};
};

Runner::Runner(Options options, Seams seams, Hands& hands, const base::Clock& clock,
               telemetry::Registry& registry)
    : options_(options),
      seams_(std::move(seams)),
      hands_(hands),
      clock_(clock),
      metrics_(registry),
      states_(registry) {}

Runner::~Runner() = default;

Runner::Entry* Runner::Find(const std::string& key) {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second.get();
}

Runner::Known* Runner::TargetOf(const Entry& entry) {
  const auto found = targets_.find(TargetKey(entry.hpa));
  return found == targets_.end() ? nullptr : &found->second;
}

void Runner::OnHpa(kube::HpaObject hpa) {
  const SteadyTime now = clock_.Now();
  const std::string key = ObjectKey(hpa.ns, hpa.name);
  auto& entry = entries_[key];
  const std::string before = entry ? TargetKey(entry->hpa) : "";
  if (!entry || entry->hpa.uid != hpa.uid || before != TargetKey(hpa)) {
    if (entry) OnHpaGone(hpa.ns, hpa.name);
    auto& added = entries_[key];
    added = std::make_unique<Entry>(std::move(hpa), now);
    if (Known* known = TargetOf(*added)) known->hpas.insert(key);
    return Rebuild(*added);
  }
  entry->hpa = std::move(hpa);
  Rebuild(*entry);
}

void Runner::Rebuild(Entry& entry) {
  entry.gate = CheckHpa(entry.hpa, options_.mode);
  entry.readers.clear();
  ++entry.asked;
  entry.not_ours.clear();
  entry.unknown = false;
  const Known* known = TargetOf(entry);
  for (size_t i = 0; known != nullptr && i < entry.hpa.sources.size(); ++i) {
    auto reader = seams_.reader_of(entry.hpa, i, known->target.selector);
    if (!reader) {
      entry.unknown = entry.unknown || reader.error().code == base::Code::kUnavailable;
      entry.not_ours +=
          fmt::format("{}{}: {}", entry.not_ours.empty() ? "" : "; ",
                      kube::MetricTitle(entry.hpa.spec.metrics[i], entry.hpa.sources[i]),
                      reader.error().message);
    }
    entry.readers.push_back(reader ? *std::move(reader) : MetricReader());
  }
  entry.dirty = true;
  std::string woken_by = fmt::format("{}", static_cast<int>(entry.gate.mode));
  for (size_t i = 0; i < entry.readers.size(); ++i) {
    if (!entry.readers[i]) continue;
    const kube::ObjectRef& object = entry.hpa.sources[i].object;
    woken_by += fmt::format(" {} {} {}", static_cast<int>(entry.hpa.spec.metrics[i].type),
                            object.kind, object.name);
  }
  if (woken_by == entry.woken_by) return;
  entry.woken_by = std::move(woken_by);
  wakes_stale_ = true;
}

void Runner::OnHpaGone(const std::string& ns, const std::string& name) {
  const std::string key = ObjectKey(ns, name);
  const Entry* entry = Find(key);
  if (entry == nullptr) return;
  if (Known* known = TargetOf(*entry)) known->hpas.erase(key);
  entries_.erase(key);
  states_.Remove(ns, name);
  wakes_stale_ = true;
}

void Runner::OnTarget(Target target) {
  const SteadyTime now = clock_.Now();
  const std::string key = TargetKey(target.ns, target.resource, target.name);
  const auto [at, is_new] = targets_.try_emplace(key);
  Known& known = at->second;
  const bool other_pods = is_new || known.target.selector != target.selector;
  const int32_t before = known.target.spec_replicas;
  if (other_pods) {
    const auto selector = metric::Selector::Parse(target.selector);
    known.selector = selector ? *selector : metric::Selector();
    if (!selector) target.selector.clear();
  }
  known.target = std::move(target);
  if (is_new) {
    for (const auto& [name, entry] : entries_) {
      if (TargetKey(entry->hpa) == key) known.hpas.insert(name);
    }
  }
  for (const std::string& name : known.hpas) {
    Entry& entry = *Find(name);
    if (is_new) entry.memory = Memory(now);  // nothing was watched until now
    if (other_pods) Rebuild(entry);
    if (!is_new && before != known.target.spec_replicas) {
      OnChange(entry, before, known.target.spec_replicas, now);
      if (before >= known.target.spec_replicas || !known.target.stepped) continue;
      // Whichever replica took it: this one may act for the HPA next.
      entry.memory.OnStep(known.target.spec_replicas, now);
      seams_.stepped(entry.hpa, known.selector);
    }
  }
}

void Runner::OnChange(Entry& entry, int32_t from, int32_t to, SteadyTime now) {
  const uint64_t undone = entry.memory.undone();
  entry.memory.OnChange(entry.hpa.spec, from, to, now);
  entry.dirty = true;
  if (entry.observed && to > from) {
    if (entry.observed->at + kObservedTime > now) {
      metrics_.earlier.Observe(std::chrono::duration<double>(now - entry.observed->at).count());
    }
    entry.observed.reset();
  }
  if (entry.memory.undone() == undone) return;
  const bool broken = entry.memory.broken_until() > now;
  if (broken) seams_.broken(entry.hpa);
  // Every replica sees it, one tells.
  if (!seams_.acts_for(ObjectKey(entry.hpa.ns, entry.hpa.name))) return;
  metrics_.undone.Increment();
  const std::string text =
      fmt::format("the step ahead was undone, {} -> {} replicas{}", from, to,
                  broken ? "; it was the second one, so the next comes in five minutes at the "
                           "earliest"
                         : "");
  LOG_WARNING("HPA {}/{}: {}", entry.hpa.ns, entry.hpa.name, text);
  hands_.Tell(entry.hpa, {.reason = "ScaleAheadUndone", .note = text, .warning = true});
}

void Runner::OnTargetGone(const std::string& ns, const std::string& resource,
                          const std::string& name) {
  const auto found = targets_.find(TargetKey(ns, resource, name));
  if (found == targets_.end()) return;
  const std::set<std::string> hpas = std::move(found->second.hpas);
  targets_.erase(found);
  for (const std::string& key : hpas) Rebuild(*Find(key));
}

void Runner::OnSourcesChanged(const std::string& ns) {
  for (const auto& [key, entry] : entries_) {
    if (entry->hpa.ns == ns) Rebuild(*entry);
  }
}

/// Which HPAs a push of a pod may matter to.
void Runner::UpdateWakes() {
  wakes_stale_ = false;
  by_workload_.clear();
  by_namespace_.clear();
  by_anything_.clear();
  double on = 0;
  double observed = 0;
  for (const auto& [key, entry] : entries_) {
    const kube::HpaObject& hpa = entry->hpa;
    on += entry->gate.mode == Mode::kOn ? 1 : 0;
    observed += entry->gate.mode == Mode::kObserve ? 1 : 0;
    if (entry->gate.mode == Mode::kOff) continue;
    for (size_t i = 0; i < entry->readers.size(); ++i) {
      if (!entry->readers[i]) continue;
      const kube::ObjectRef& object = hpa.sources[i].object;
      switch (hpa.spec.metrics[i].type) {
        case hpa::MetricType::kPods:
          by_workload_[ObjectKey(hpa.ns, hpa.target.name)].insert(key);
          break;
        case hpa::MetricType::kObject:
          if (ResourceOfTarget(object.api_version, object.kind).empty()) {
            by_namespace_[hpa.ns].insert(key);
          } else {
            by_workload_[ObjectKey(hpa.ns, object.name)].insert(key);
          }
          break;
        default:
          by_anything_.insert(key);
      }
    }
  }
  metrics_.hpas_on.Set(on);
  metrics_.hpas_observed.Set(observed);
}

void Runner::Wake(const Wakes& wakes, const std::string& of) {
  const auto found = wakes.find(of);
  if (found == wakes.end()) return;
  for (const std::string& key : found->second) Find(key)->dirty = true;
}

void Runner::OnPushed(const PushTap::Pushed& pushed) {
  if (pushed.pods.empty() && !pushed.more) return;
  if (wakes_stale_) UpdateWakes();
  for (const std::string& key : by_anything_) Find(key)->dirty = true;
  if (pushed.more) {
    for (const auto& [key, entry] : entries_) entry->dirty = true;
    return;
  }
  for (const metric::PodKey& pod : pushed.pods) {
    if (!by_namespace_.empty()) Wake(by_namespace_, pod.ns);
    if (by_workload_.empty()) continue;
    if (const auto workload = seams_.workload_of(pod.View())) {
      Wake(by_workload_, ObjectKey(pod.ns, *workload));
    }
  }
}

/// Goes round all HPAs of this replica, so many pods at a time that a shared store can bear it.
void Runner::Poll(SteadyTime now) {
  if (!options_.polls || now < next_poll_ || entries_.empty()) return;
  next_poll_ = now + kLookInterval;
  size_t pods = 0;
  auto at = entries_.upper_bound(polled_);
  for (size_t i = 0; i < entries_.size() && pods < kPolledPods; ++i, ++at) {
    if (at == entries_.end()) at = entries_.begin();
    Entry& entry = *at->second;
    polled_ = at->first;
    if (entry.gate.mode == Mode::kOff || !seams_.acts_for(at->first)) continue;
    const Known* known = TargetOf(entry);
    pods += known == nullptr ? 0 : static_cast<size_t>(known->target.status_replicas);
    entry.dirty = true;
  }
}

void Runner::Tick() {
  const SteadyTime now = clock_.Now();
  if (wakes_stale_) UpdateWakes();
  for (const auto& [key, entry] : entries_) Show(*entry, now);
  metrics_.paused.Set(now < paused_until_ ? 1 : 0);
  if (now < paused_until_) return;
  Poll(now);
  for (const auto& [key, entry] : entries_) {
    const bool due = (entry->look_again && *entry->look_again <= now) ||
                     (entry->unknown && entry->looked <= now - kUnknownWait);
    if ((entry->dirty || due) && entry->busy == 0 && entry->looked <= now - kLookInterval) {
      Look(*entry, now);
    }
  }
}

/// What it gets now, for people.
void Runner::Show(Entry& entry, SteadyTime now) {
  State state = State::kOff;
  if (entry.gate.mode == Mode::kObserve) state = State::kObserve;
  if (entry.gate.mode == Mode::kOn) {
    state = entry.memory.broken_until() > now ? State::kBroken : State::kOn;
  }
  if (entry.shown == state) return;
  entry.shown = state;
  states_.Set(entry.hpa, state);
}

void Runner::Look(Entry& entry, SteadyTime now) {
  if (entry.unknown) Rebuild(entry);
  entry.dirty = false;
  entry.look_again.reset();
  entry.looked = now;
  const std::string key = ObjectKey(entry.hpa.ns, entry.hpa.name);
  if (!seams_.acts_for(key)) return;
  if (const Hold hold = Begin(entry, now); hold != Hold::kNone) Hesitate(entry, hold);
}

/// Asks for what is needed for a decision, unless it is clear without.
Hold Runner::Begin(Entry& entry, SteadyTime now) {
  if (entry.gate.hold != Hold::kNone) return entry.gate.hold;
  if (!seams_.watches_fresh(entry.hpa.ns)) return Hold::kUnknown;
  const Known* known = TargetOf(entry);
  if (known == nullptr || known->target.selector.empty()) return Hold::kNoTarget;
  if (known->hpas.size() > 1) return Hold::kSharedTarget;
  const Target& target = known->target;
  if (const Hold hold = CheckTarget(entry.hpa, target); hold != Hold::kNone) return hold;
  if (std::ranges::none_of(entry.readers, [](const MetricReader& r) { return r != nullptr; })) {
    return entry.unknown ? Hold::kUnknown : Hold::kNoMetricOfOurs;
  }
  auto pods = seams_.pods_of(entry.hpa.ns, known->selector);
  if (!pods) return Hold::kUnknown;

  auto round = std::make_shared<Round>();
  round->key = ObjectKey(entry.hpa.ns, entry.hpa.name);
  round->generation = entry.busy = ++generation_;
  round->asked = entry.asked;
  round->step = {.ns = target.ns,
                 .resource = target.resource,
                 .name = target.name,
                 .resource_version = target.resource_version};
  round->seen.spec_replicas = target.spec_replicas;
  round->seen.status_replicas = target.status_replicas;
  for (TargetPod& pod : *pods) {
    const bool fresh = !pod.ready_since || *pod.ready_since + Memory::kFreshPod > now;
    if (fresh) round->fresh.insert(pod.pod.name);
    if (pod.ready_since && *pod.ready_since + kSettling > now) round->settling = true;
    round->seen.pods.push_back(std::move(pod.pod));
  }
  const size_t metrics = entry.readers.size();
  round->seen.answers.resize(metrics);
  round->facts.resize(metrics);
  round->left = metrics;
  for (size_t i = 0; i < metrics; ++i) {
    const auto take = [this, round, i](MetricReading reading) {
      round->seen.answers[i] = std::move(reading.answer);
      round->facts[i] = std::move(reading.facts);
      if (--round->left == 0) seams_.post([this, round] { Finish(round); });
    };
    if (entry.readers[i]) {
      entry.readers[i](take);
    } else {
      take({.answer = {.error = "not asked: it is not one of ours"}, .facts = {.ours = false}});
    }
  }
  return Hold::kNone;
}

void Runner::Finish(const std::shared_ptr<Round>& round) {
  Entry* entry = Find(round->key);
  if (entry == nullptr || entry->busy != round->generation) return;
  entry->busy = 0;
  // Something changed meanwhile: the answers may be to other questions. It is dirty.
  if (round->asked != entry->asked) return;
  const SteadyTime now = clock_.Now();
  for (MetricFacts& facts : round->facts) {
    for (PodTime& time : facts.times) time.fresh = round->fresh.contains(time.pod);
  }
  entry->fault.clear();
  const AheadDecision decision = Decide({.spec = entry->hpa.spec,
                                         .seen = round->seen,
                                         .facts = round->facts,
                                         .settling = round->settling},
                                        entry->memory, now);
  entry->look_again = decision.look_again;
  if (decision.hold != Hold::kNone) return Hesitate(*entry, decision.hold);
  metrics_.looks[static_cast<size_t>(Hold::kNone)]->Increment();
  if (entry->gate.mode == Mode::kObserve) return Observe(*entry, decision, now);
  if (entry->gate.mode == Mode::kOn) Take(*entry, *round, decision);
}

void Runner::Hesitate(Entry& entry, Hold hold) {
  metrics_.looks[static_cast<size_t>(hold)]->Increment();
  const std::string text = FaultText(hold, entry.hpa, entry.not_ours);
  if (text.empty() || entry.fault == text) return;
  entry.fault = text;
  LOG_WARNING("HPA {}/{} is left to its controller: {}", entry.hpa.ns, entry.hpa.name, text);
  hands_.Tell(entry.hpa, {.reason = "ScaleAheadRefused", .note = text, .warning = true});
}

std::string Runner::Describe(const Entry& entry, const AheadDecision& decision,
                             SteadyTime now) const {
  const auto& spec = entry.hpa.spec.metrics[decision.metric];
  const auto milli = [](int64_t value) { return metric::Quantity::FromMilli(value).ToString(); };
  return fmt::format("{} -> {} replicas: {} is {}, its target {}; {} ms after the push",
                     decision.from, decision.to,
                     kube::MetricTitle(spec, entry.hpa.sources[decision.metric]),
                     milli(decision.value_milli), milli(spec.target),
                     std::chrono::duration_cast<milliseconds>(now - decision.pushed).count());
}

void Runner::Observe(Entry& entry, const AheadDecision& decision, SteadyTime now) {
  auto& observed = entry.observed;
  const bool known = observed && observed->at + kObservedTime > now;
  if (known && observed->to >= decision.to) return;
  hands_.Tell(entry.hpa, {.reason = "WouldScaleAhead", .note = Describe(entry, decision, now)});
  // Earliness is that of the first step; later ones would have been taken from there on.
  observed = {decision.to, known ? observed->at : now};
}

void Runner::Take(Entry& entry, const Round& round, const AheadDecision& decision) {
  entry.busy = ++generation_;
  Step step = round.step;
  step.replicas = decision.to;
  hands_.Scale(step, [this, key = round.key, decision](StepResult result) {
    seams_.post(
        [this, key, decision, result = std::move(result)] { OnResult(key, decision, result); });
  });
}

void Runner::OnResult(const std::string& key, const AheadDecision& decision,
                      const StepResult& result) {
  const SteadyTime now = clock_.Now();
  metrics_.steps[static_cast<size_t>(result.outcome)]->Increment();
  Entry* entry = Find(key);
  if (entry == nullptr) return;
  entry->busy = 0;
  entry->dirty = true;
  switch (result.outcome) {
    case StepOutcome::kApplied:
      pause_ = seconds(0);
      entry->memory.OnStep(decision.to, now);
      metrics_.push_to_step.Observe(std::chrono::duration<double>(now - decision.pushed).count());
      LOG_INFO("HPA {}: scaled ahead, {}", key, Describe(*entry, decision, now));
      hands_.Tell(entry->hpa, {.reason = "ScaledAhead", .note = Describe(*entry, decision, now)});
      return;
    case StepOutcome::kConflict:
      return entry->memory.OnConflict(now);
    case StepOutcome::kAway:
      return Pause(result, now);
    case StepOutcome::kGone:
      return entry->memory.BackOff(now + kGoneWait);
    case StepOutcome::kForbidden:
    case StepOutcome::kRefused:
      break;
  }
  entry->memory.BackOff(now + kRefusedWait);
  LOG_WARNING("HPA {}: a step ahead, {} -> {} replicas, was refused: {}", key, decision.from,
              decision.to, result.message);
  hands_.Tell(entry->hpa, {.reason = "ScaleAheadFailed", .note = result.message, .warning = true});
}

void Runner::Pause(const StepResult& result, SteadyTime now) {
  pause_ = std::clamp(pause_ * 2, seconds(1), kMaxPause);
  const seconds pause =
      std::max(pause_, std::min(result.retry_after.value_or(seconds(0)), kMaxPause));
  paused_until_ = now + pause;
  metrics_.paused.Set(1);
  LOG_WARNING("no steps ahead for {} s: {}", pause.count(), result.message);
}

}  // namespace activescale::scaleahead
