#include "scaleahead/memory.h"

#include <algorithm>

namespace activescale::scaleahead {
namespace {

using base::SteadyTime;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Without behavior the controller grows by its cap once in a sync.
constexpr seconds kDefaultPeriod{15};
constexpr milliseconds kFirstConflictWait{100};
constexpr int kMaxConflictDoublings = 5;

}  // namespace

void Memory::OnChange(const hpa::HpaSpec& spec, int32_t from, int32_t to, SteadyTime now) {
  if (from == to) return;
  history_.RecordScale(spec, from, to, WallOf(now));
  last_change_ = now;
  conflicts_ = 0;
  if (to > from) {
    last_up_ = now;
    return;
  }
  last_down_ = now;
  rising_since.reset();
  if (!stepped_at_ || to >= stepped_to_ || *stepped_at_ + kUndoTime < now) return;
  stepped_at_.reset();
  ++undone_;
  if (++undone_in_a_row_ < kUndonePerBreak) return;
  undone_in_a_row_ = 0;
  broken_until_ = now + kBreak;
}

void Memory::OnStep(int32_t to, SteadyTime now) {
  if (stepped_at_ && *stepped_at_ + kUndoTime < now) undone_in_a_row_ = 0;
  stepped_at_ = now;
  stepped_to_ = to;
  last_change_ = now;
  conflicts_ = 0;
  rising_since.reset();
}

void Memory::OnConflict(SteadyTime now) {
  BackOff(now + kFirstConflictWait * (1 << std::min(conflicts_, kMaxConflictDoublings)));
  ++conflicts_;
}

void Memory::OnTimes(const std::vector<PodTime>& times) {
  for (auto& [name, pod] : pods_) pod.seen = false;
  for (const PodTime& time : times) {
    PodMemory& pod = pods_[time.pod];
    pod.seen = true;
    if (time.received > pod.received) {
      if (pod.received != SteadyTime::min()) pod.interval = time.received - pod.received;
      pod.received = time.received;
    }
    if (!time.busy || pod.served) continue;
    pod.served = true;
    if (time.fresh) joined_ = std::max(joined_, time.received);
  }
  std::erase_if(pods_, [](const auto& entry) { return !entry.second.seen; });
}

int32_t Memory::Stabilize(int32_t proposed, seconds window, SteadyTime now) {
  if (window == seconds(0)) {
    lowest_.clear();
    return proposed;
  }
  while (!lowest_.empty() && lowest_.back().replicas >= proposed) lowest_.pop_back();
  lowest_.push_back({now, proposed});
  while (lowest_.front().at <= now - window) lowest_.pop_front();
  return lowest_.front().replicas;
}

int32_t Memory::UpLimit(const hpa::HpaSpec& spec, int32_t current, SteadyTime now) const {
  if (spec.behavior) return history_.ScaleUpLimit(spec.behavior->up, current, WallOf(now));
  if (last_up_ > now - kDefaultPeriod) return current;
  return hpa::DefaultScaleUpLimit(current);
}

seconds Memory::LookBack(const hpa::HpaSpec& spec) {
  seconds longest = kDefaultPeriod;
  if (!spec.behavior) return longest;
  for (const hpa::Policy& policy : spec.behavior->up.policies) {
    longest = std::max(longest, seconds(policy.period_seconds));
  }
  return std::max(longest, seconds(spec.behavior->up.stabilization_window_seconds.value_or(0)));
}

std::optional<SteadyTime> Memory::NextOf(const PodTime& time) const {
  const auto found = pods_.find(time.pod);
  if (found == pods_.end() || found->second.interval.count() == 0) return std::nullopt;
  return time.received + found->second.interval;
}

}  // namespace activescale::scaleahead
