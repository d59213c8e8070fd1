#include "redis/link_state.h"

#include <algorithm>
#include <utility>

namespace activescale::redis {

std::chrono::milliseconds Backoff::Next() {
  const auto whole = step_.count();
  step_ = std::min(step_ * 2, kLargest);
  return std::chrono::milliseconds(
      std::uniform_int_distribution<int64_t>(whole / 2, whole)(random_));
}

std::string_view PhaseName(LinkPhase phase) {
  switch (phase) {
    case LinkPhase::kIdle:
      return "idle";
    case LinkPhase::kConnecting:
      return "connecting";
    case LinkPhase::kReady:
      return "ready";
    case LinkPhase::kFailing:
      return "failing";
    case LinkPhase::kClosed:
      return "closed";
  }
  return "";
}

bool LinkState::AttemptDue(base::SteadyTime now) const {
  return !attempting_ && (phase_ == LinkPhase::kIdle || phase_ == LinkPhase::kFailing) &&
         now >= next_attempt_;
}

bool LinkState::Nudge(base::SteadyTime now) {
  if (attempting_ || (phase_ != LinkPhase::kIdle && phase_ != LinkPhase::kFailing)) return false;
  if (last_nudge_ != base::SteadyTime::min() && now - last_nudge_ < kNudgeInterval) return false;
  last_nudge_ = now;
  return true;
}

void LinkState::OnAttempt(base::SteadyTime now) {
  attempting_ = true;
  ++attempts_;
  if (phase_ == LinkPhase::kIdle) Enter(LinkPhase::kConnecting, now);
}

void LinkState::OnReady(base::SteadyTime now) {
  attempting_ = false;
  attempts_ = 0;
  Enter(LinkPhase::kReady, now);
}

void LinkState::OnLost(base::SteadyTime now, std::string reason) {
  Schedule(now);
  if (phase_ != LinkPhase::kFailing) Enter(LinkPhase::kFailing, now);
  reason_ = std::move(reason);
}

void LinkState::OnIdleClosed(base::SteadyTime now) {
  Schedule(now);
  Enter(LinkPhase::kIdle, now);
}

void LinkState::OnClosed(base::SteadyTime now) {
  attempting_ = false;
  Enter(LinkPhase::kClosed, now);
}

void LinkState::Enter(LinkPhase phase, base::SteadyTime now) {
  phase_ = phase;
  since_ = now;
  reason_.clear();
}

void LinkState::Schedule(base::SteadyTime now) {
  attempting_ = false;
  const bool healthy = phase_ == LinkPhase::kReady && now - since_ >= kHealthy;
  if (healthy) backoff_.Reset();
  next_attempt_ = healthy ? now : now + backoff_.Next();
}

}  // namespace activescale::redis
