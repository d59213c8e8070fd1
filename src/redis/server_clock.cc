#include "redis/server_clock.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace activescale::redis {
namespace {

std::chrono::nanoseconds Since1970(ServerTime at) { return at.time_since_epoch(); }

std::optional<int64_t> ParseInt(const Reply& reply) {
  int64_t value = 0;
  const char* end = reply.text.data() + reply.text.size();
  const auto [stop, error] = std::from_chars(reply.text.data(), end, value);
  if (error != std::errc() || stop != end || reply.text.empty()) return std::nullopt;
  return value;
}

}  // namespace

ServerClock::ServerClock(base::SteadyTime sent, base::SteadyTime received, ServerTime server)
    : lower_(Since1970(server) - received.time_since_epoch()),
      upper_(Since1970(server) - sent.time_since_epoch()) {}

void ServerClock::Observe(base::SteadyTime sent, base::SteadyTime received, ServerTime server) {
  const ServerClock now(sent, received, server);
  lower_ = std::max(lower_, now.lower_);
  upper_ = std::min(upper_, now.upper_);
  ++answers_;
  // The bounds cross when a clock was set or has drifted by more than the slack between them.
  if (lower_ > upper_) *this = now;
}

ServerTime ServerClock::ToServer(base::SteadyTime at) const {
  return ServerTime(std::chrono::floor<std::chrono::microseconds>(at.time_since_epoch() + lower_));
}

ServerTime ServerClock::GuessServer(base::SteadyTime at) const {
  return ServerTime(std::chrono::floor<std::chrono::microseconds>(at.time_since_epoch() + lower_ +
                                                                  (upper_ - lower_) / 2));
}

base::SteadyTime ServerClock::ToLocal(ServerTime at) const {
  return base::SteadyTime(
      std::chrono::duration_cast<base::SteadyTime::duration>(Since1970(at) - upper_));
}

base::Result<ServerTime> ParseTime(const Reply& reply) {
  if (reply.type == Reply::Type::kArray && reply.elements.size() == 2) {
    const auto seconds = ParseInt(reply.elements[0]);
    const auto micros = ParseInt(reply.elements[1]);
    // 2100-01-01: later is no clock, and the arithmetic above would overflow on nonsense.
    constexpr int64_t kLatest = 4'102'444'800;
    if (seconds && micros && *seconds >= 0 && *seconds < kLatest && *micros >= 0 &&
        *micros < 1'000'000) {
      return ServerTime(std::chrono::seconds(*seconds) + std::chrono::microseconds(*micros));
    }
  }
  return base::Fail(base::Code::kInternal, "TIME: the answer has an unknown form");
}

}  // namespace activescale::redis
