#include "insight/reach.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace activescale::insight {
namespace {

/// The first of 0..`high` for which `holds`, which then stays so.
template <typename Predicate>
int64_t FirstThat(int64_t high, const Predicate& holds) {
  int64_t low = 0;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// Tries one metric with other values and targets.
class Trial {
 public:
  Trial(const Snapshot& snapshot, const hpa::ControllerOptions& options, size_t index)
      : snapshot_(snapshot),
        options_(options),
        spec_(snapshot.hpa.spec.metrics[index]),
        answer_(snapshot.seen.answers[index]) {}

  [[nodiscard]] bool usable() const { return !Propose(spec_, answer_).error; }

  /// Above every value and target that can matter, and far from overflowing a sum over pods.
  [[nodiscard]] int64_t highest() const {
    return spec_.target_type == hpa::TargetType::kUtilization ? 1'000'000 : int64_t{1} << 40;
  }

  [[nodiscard]] int32_t AtValue(int64_t value) const {
    hpa::MetricAnswer answer = answer_;
    if (!answer.values.empty()) answer.values = {value};
    for (auto& [pod, sample] : answer.by_pod) {
      const auto request = answer.requests_milli.find(pod);
      sample.value_milli = request == answer.requests_milli.end()
                               ? value
                               : static_cast<int64_t>(static_cast<double>(request->second) *
                                                      static_cast<double>(value) / 100);
    }
    return Count(Propose(spec_, answer));
  }

  /// At a target of `target` + 1.
  [[nodiscard]] int32_t AtTarget(int64_t target) const {
    hpa::MetricSpec spec = spec_;
    spec.target = target + 1;  // never 0
    return Count(Propose(spec, answer_));
  }

 private:
  /// The controller's conversion makes what does not fit negative.
  static int32_t Count(const hpa::Proposal& proposal) {
    return proposal.replicas < 0 ? std::numeric_limits<int32_t>::max() : proposal.replicas;
  }

  [[nodiscard]] hpa::Proposal Propose(const hpa::MetricSpec& spec,
                                      const hpa::MetricAnswer& answer) const {
    return hpa::ProposeReplicas({.spec = spec,
                                 .answer = answer,
                                 .pods = snapshot_.seen.pods,
                                 .spec_replicas = snapshot_.seen.spec_replicas,
                                 .status_replicas = snapshot_.seen.status_replicas,
                                 .tolerance = hpa::ToleranceOf(snapshot_.hpa.spec, options_),
                                 .now = snapshot_.taken_at,
                                 .options = options_});
  }

  const Snapshot& snapshot_;
  const hpa::ControllerOptions& options_;
  const hpa::MetricSpec& spec_;
  const hpa::MetricAnswer& answer_;
};

MetricReach Search(const Trial& trial, int32_t wanted) {
  MetricReach out;
  if (!trial.usable()) return out;
  const int64_t highest = trial.highest();
  const Range value{FirstThat(highest, [&](int64_t v) { return trial.AtValue(v) >= wanted; }),
                    FirstThat(highest, [&](int64_t v) { return trial.AtValue(v) > wanted; }) - 1};
  if (value.least <= value.most && trial.AtValue(value.least) == wanted) out.value = value;
  // AtTarget counts from 0, targets from 1.
  const Range target{FirstThat(highest, [&](int64_t t) { return trial.AtTarget(t) <= wanted; }) + 1,
                     FirstThat(highest, [&](int64_t t) { return trial.AtTarget(t) < wanted; })};
  const bool found = target.least <= target.most && target.most < highest &&
                     trial.AtTarget(target.least - 1) == wanted;
  if (found) out.target = target;
  return out;
}

}  // namespace

Reach FindReach(const Snapshot& snapshot, const hpa::ScaleHistory& history,
                const hpa::ControllerOptions& options, int32_t wanted) {
  Reach out{.wanted = wanted, .metrics = {}, .limit = 0};
  const hpa::HpaSpec& spec = snapshot.hpa.spec;
  if (snapshot.seen.selector_fault.empty()) {
    for (size_t i = 0; i < spec.metrics.size(); ++i) {
      out.metrics.push_back(Search(Trial(snapshot, options, i), wanted));
    }
  }
  hpa::ScaleHistory tried = history;
  out.limit = tried.Normalize(spec, options, snapshot.seen.spec_replicas, wanted, snapshot.taken_at)
                  .replicas;
  return out;
}

}  // namespace activescale::insight
