#pragma once

#include <chrono>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "redis/resp.h"

namespace activescale::redis {

/// A moment on a server's own clock, as TIME tells it.
using ServerTime = std::chrono::sys_time<std::chrono::microseconds>;

/// Relates our steady clock to one server's clock, so that ages travel between replicas whose own
/// clocks disagree. A server's answer to TIME was made between the sending and the receiving, so
/// the difference of the clocks is only known to lie between two bounds, at most a round trip
/// apart. ToServer and ToLocal take the bound that makes things older, never younger. A value type.
class ServerClock {
 public:
  /// The first answer: TIME was sent at `sent`, answered `server` by `received`.
  ServerClock(base::SteadyTime sent, base::SteadyTime received, ServerTime server);

  /// Another answer. A server's clock that was set back or forward is followed at once.
  void Observe(base::SteadyTime sent, base::SteadyTime received, ServerTime server);

  /// `at` on the server's clock; never later than the truth.
  [[nodiscard]] ServerTime ToServer(base::SteadyTime at) const;

  /// The best guess of `at` on the server's clock, for putting moments in order.
  [[nodiscard]] ServerTime GuessServer(base::SteadyTime at) const;

  /// How far the two bounds are apart.
  [[nodiscard]] std::chrono::nanoseconds uncertainty() const { return upper_ - lower_; }
  /// Answers seen; this many are asked for soon after a connection, to narrow the bounds.
  static constexpr int kManyAnswers = 10;
  [[nodiscard]] int answers() const { return answers_; }

  /// A moment of the server's clock on ours; never later than the truth.
  [[nodiscard]] base::SteadyTime ToLocal(ServerTime at) const;

 private:
  using Offset = std::chrono::nanoseconds;  // server minus ours
  Offset lower_;
  Offset upper_;
  int answers_ = 1;
};

/// Reads the answer of TIME. Errors: kInternal if it has another form.
[[nodiscard]] base::Result<ServerTime> ParseTime(const Reply& reply);

}  // namespace activescale::redis
