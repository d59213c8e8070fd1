#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "kube/hpa_object.h"
#include "metric/selector.h"
#include "scaleahead/decision.h"
#include "scaleahead/hands.h"
#include "scaleahead/memory.h"
#include "scaleahead/push_tap.h"
#include "scaleahead/runner_metrics.h"
#include "scaleahead/seams.h"
#include "scaleahead/state_board.h"
#include "telemetry/registry.h"

namespace activescale::scaleahead {

/// Looks at HPAs whose metrics may have changed and takes the steps that are due, one at a time for
/// each HPA. It is told of pushes and of what the watches see, and asked to Tick.
/// Threads: one, which Seams::post leads to. It must outlive every call that it made.
class Runner {
 public:
  struct Options {
    Mode mode = Mode::kOff;
    /// The store is shared: pushes reach other replicas, too, so HPAs are looked at unasked.
    bool polls = false;
  };
  /// To be called this often.
  static constexpr std::chrono::milliseconds kTick{20};
  /// Between two looks at an HPA.
  static constexpr std::chrono::milliseconds kLookInterval{100};
  /// Pods whose values are read unasked in a kLookInterval, so that a shared store is not flooded.
  static constexpr size_t kPolledPods = 2'000;

  /// All of them must outlive it.
  Runner(Options options, Seams seams, Hands& hands, const base::Clock& clock,
         telemetry::Registry& registry);
  ~Runner();

  void OnHpa(kube::HpaObject hpa);
  void OnHpaGone(const std::string& ns, const std::string& name);
  void OnTarget(Target target);
  void OnTargetGone(const std::string& ns, const std::string& resource, const std::string& name);
  /// What metrics of HPAs of that namespace come from may be another now.
  void OnSourcesChanged(const std::string& ns);
  void OnPushed(const PushTap::Pushed& pushed);
  void Tick();

  /// Whether any HPA asks, so that pushes matter.
  [[nodiscard]] bool wants_pushes() const { return !entries_.empty(); }
  /// Threads: any.
  [[nodiscard]] const StateBoard& states() const { return states_; }

 private:
  struct Entry;
  struct Round;
  struct Known {  // a target
    Target target;
    metric::Selector selector;
    std::set<std::string> hpas;  // keys of those that scale it
  };
  using Wakes = std::unordered_map<std::string, std::set<std::string>>;

  void Rebuild(Entry& entry);
  void UpdateWakes();
  void OnChange(Entry& entry, int32_t from, int32_t to, base::SteadyTime now);
  void Wake(const Wakes& wakes, const std::string& of);
  void Poll(base::SteadyTime now);
  void Show(Entry& entry, base::SteadyTime now);
  void Look(Entry& entry, base::SteadyTime now);
  [[nodiscard]] Hold Begin(Entry& entry, base::SteadyTime now);
  void Finish(const std::shared_ptr<Round>& round);
  void Take(Entry& entry, const Round& round, const AheadDecision& decision);
  void OnResult(const std::string& key, const AheadDecision& decision, const StepResult& result);
  void Observe(Entry& entry, const AheadDecision& decision, base::SteadyTime now);
  void Pause(const StepResult& result, base::SteadyTime now);
  void Hesitate(Entry& entry, Hold hold);
  [[nodiscard]] std::string Describe(const Entry& entry, const AheadDecision& decision,
                                     base::SteadyTime now) const;
  [[nodiscard]] Entry* Find(const std::string& key);
  [[nodiscard]] Known* TargetOf(const Entry& entry);

  const Options options_;
  const Seams seams_;
  Hands& hands_;
  const base::Clock& clock_;
  RunnerMetrics metrics_;
  StateBoard states_;

  std::map<std::string, std::unique_ptr<Entry>> entries_;  // by "namespace/name" of the HPA
  std::unordered_map<std::string, Known> targets_;         // by "namespace/resource/name"
  bool wakes_stale_ = false;
  Wakes by_workload_;   // "namespace/workload" -> HPAs
  Wakes by_namespace_;  // whose metric may be of any pod there
  std::set<std::string> by_anything_;
  std::string polled_;  // the HPA after which the next poll goes on
  base::SteadyTime next_poll_ = base::SteadyTime::min();
  base::SteadyTime paused_until_ = base::SteadyTime::min();
  std::chrono::seconds pause_{0};  // the last one, doubled with each failure in a row
  uint64_t generation_ = 0;
};

}  // namespace activescale::scaleahead
