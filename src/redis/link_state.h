#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace activescale::redis {

/// Delays between attempts: doubling, each a random half to whole of its step, so that replicas do
/// not come back in step.
class Backoff {
 public:
  static constexpr std::chrono::milliseconds kFirst{50};
  /// Small enough that a server is found again within a second of listening.
  static constexpr std::chrono::milliseconds kLargest{700};

  explicit Backoff(std::mt19937_64& random) : random_(random) {}

  [[nodiscard]] std::chrono::milliseconds Next();
  void Reset() { step_ = kFirst; }

 private:
  std::mt19937_64& random_;
  std::chrono::milliseconds step_ = kFirst;
};

enum class LinkPhase : uint8_t {
  kIdle,        // never connected, or closed by the server while nothing was asked
  kConnecting,  // the first attempt since it was idle
  kReady,
  kFailing,  // lost or never reached; attempts go on with growing delays
  kClosed,   // given up by us
};

[[nodiscard]] std::string_view PhaseName(LinkPhase phase);

/// What is known of the connection to one server and when to try again; no I/O. The owner makes
/// the attempts and reports what came of them. Threads: one.
///
/// An attempt is due by itself after a delay: none after a link that was healthy (ready for
/// kHealthy or longer), else the backoff's, which only a healthy link resets. So a server that
/// accepts and closes again meets the whole backoff, and one that closes idle links costs one
/// attempt a second.
class LinkState {
 public:
  static constexpr std::chrono::seconds kHealthy{1};
  static constexpr std::chrono::seconds kNudgeInterval{1};

  LinkState(std::mt19937_64& random, base::SteadyTime now) : backoff_(random), since_(now) {}

  /// True if an attempt is to start now; the owner then calls OnAttempt.
  [[nodiscard]] bool AttemptDue(base::SteadyTime now) const;
  /// Asks for an attempt now, without waiting for the delay: true if one is to start. At most one
  /// at a time and one a kNudgeInterval.
  [[nodiscard]] bool Nudge(base::SteadyTime now);

  void OnAttempt(base::SteadyTime now);
  void OnReady(base::SteadyTime now);
  /// The attempt failed, or the ready link broke.
  void OnLost(base::SteadyTime now, std::string reason);
  /// The server closed the ready link while nothing was asked: no fault of its.
  void OnIdleClosed(base::SteadyTime now);
  void OnClosed(base::SteadyTime now);

  [[nodiscard]] LinkPhase phase() const { return phase_; }
  /// Since when the phase is what it is; for kFailing since the first failure.
  [[nodiscard]] base::SteadyTime since() const { return since_; }
  /// Why it is failing; empty in other phases.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] bool attempting() const { return attempting_; }
  /// Attempts since it was last ready.
  [[nodiscard]] uint32_t attempts() const { return attempts_; }

 private:
  void Enter(LinkPhase phase, base::SteadyTime now);
  void Schedule(base::SteadyTime now);

  Backoff backoff_;
  LinkPhase phase_ = LinkPhase::kIdle;
  base::SteadyTime since_;
  std::string reason_;
  bool attempting_ = false;
  uint32_t attempts_ = 0;
  base::SteadyTime next_attempt_ = base::SteadyTime::min();
  base::SteadyTime last_nudge_ = base::SteadyTime::min();
};

}  // namespace activescale::redis
