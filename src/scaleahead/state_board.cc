#include "scaleahead/state_board.h"

namespace activescale::scaleahead {
namespace {

/// Read by `activescale top`: insight/top.cc.
constexpr const char* kMetric = "activescale_scale_ahead_state";

}  // namespace

void StateBoard::Set(const kube::HpaObject& hpa, State state) {
  base::MutexLock lock(mutex_);
  const auto [at, is_new] = entries_.try_emplace({hpa.ns, hpa.name});
  if (is_new) {
    at->second.gauge = &registry_.AddGauge(
        kMetric, "HPAs that ask for steps ahead: 0 off, 1 observed, 2 on, 3 its circuit is open.",
        {{"namespace", hpa.ns},
         {"hpa", hpa.name},
         {"workload", hpa.target.kind + "/" + hpa.target.name}});
  }
  at->second.state = state;
  at->second.gauge->Set(static_cast<double>(state));
}

void StateBoard::Remove(const std::string& ns, const std::string& hpa) {
  base::MutexLock lock(mutex_);
  const auto found = entries_.find({ns, hpa});
  if (found == entries_.end()) return;
  registry_.RemoveGauge(kMetric, *found->second.gauge);
  entries_.erase(found);
}

State StateBoard::Of(std::string_view ns, std::string_view hpa) const {
  base::MutexLock lock(mutex_);
  const auto found = entries_.find(std::pair(std::string(ns), std::string(hpa)));
  return found == entries_.end() ? State::kOff : found->second.state;
}

}  // namespace activescale::scaleahead
