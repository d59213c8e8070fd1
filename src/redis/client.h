#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/snapshot.h"
#include "net/io_loop.h"
#include "redis/config.h"
#include "redis/connection.h"
#include "redis/health.h"
#include "redis/slots.h"
#include "redis/stats.h"
#include "redis/topology.h"

namespace activescale::redis {

/// Sends commands to the Redis or Valkey of a Config, wherever its masters are, and keeps finding
/// them. Commands must be idempotent: one whose answer was lost is sent again within its time.
/// Threads: the loop's, unless a function says "any". The loop must outlive the client, and be
/// stopped before the client is destroyed.
class Client final : private TopologyListener {
 public:
  /// `seed` is for the jitter.
  Client(net::IoLoop& loop, const base::Clock& clock, Config config, uint64_t seed);
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// What the client tells its user, on the loop.
  struct Hooks {
    /// These slots can be reached now and could not before, or they moved: what was written to them
    /// last may be lost.
    std::function<void(const SlotSet&)> on_routes_ready;
    /// Called each kTick, for the user's own timers.
    std::function<void()> on_tick;
  };
  static constexpr std::chrono::milliseconds kTick{5};

  /// Begins to connect; call once. Threads: any.
  void Start(Hooks hooks);
  /// Runs `work` on the loop. Threads: any.
  void Post(std::move_only_function<void()> work) { loop_.Post(std::move(work)); }

  /// Sends `wire`, one command in RESP whose keys are all in `slot`, to the slot's master. MOVED
  /// and ASK are followed; replies that speak of the server's state become errors and a
  /// reconnection. `done` runs once, on the loop, within `timeout` and a Tick; at once if the
  /// slot's server is known to be away. Other error replies (NOSCRIPT, TRYAGAIN, OOM, BUSY, NOPERM,
  /// ...) are handed on. Errors: kUnavailable, kDeadlineExceeded, kResourceExhausted (too many
  /// commands wait).
  void Send(uint16_t slot, std::string wire, std::chrono::milliseconds timeout, ReplyCallback done);

  /// True if the slot's server can be sent to now.
  [[nodiscard]] bool Ready(uint16_t slot);
  /// How the clock of the slot's server relates to ours; nothing if it is not ready.
  [[nodiscard]] std::optional<ServerClock> ClockOf(uint16_t slot);

  /// Asks connections that are idle or wait for their next attempt to connect now; at most one
  /// attempt a connection and second. Never blocks. Threads: any.
  void Nudge();
  /// The state of the connections. Never blocks; nothing is asked. Threads: any.
  [[nodiscard]] HealthSummary Check() const;
  [[nodiscard]] const Stats& stats() const { return stats_; }  // Threads: any.

 private:
  struct Request {
    uint16_t slot = 0;
    std::string wire;
    base::SteadyTime deadline;
    int tries = 0;
    bool parked = false;         // waits for a connection
    std::optional<Address> ask;  // ask this node once, instead of the slot's master
    ReplyCallback done;
  };
  using RequestId = uint64_t;

  void OnRoutesReady(const SlotSet& slots) override;
  void OnHealthChange() override;

  void Tick();
  void Dispatch(RequestId id);
  void Transmit(RequestId id, Request& request, Connection& connection);
  void OnAnswer(RequestId id, const Address& from, base::Result<Answer> answer);
  /// Handles an error reply; true if the caller is to see it.
  bool IsForCaller(RequestId id, Request& request, const Address& from, const Reply& reply);
  void FollowRedirect(RequestId id, Request& request, const Address& from, const Reply& reply);
  void Finish(RequestId id, base::Result<Answer> answer);
  void DispatchParked();

  net::IoLoop& loop_;
  const base::Clock& clock_;
  const Config config_;
  std::mt19937_64 random_;
  Stats stats_;
  Environment environment_;
  Hooks hooks_;
  std::atomic<bool> nudge_posted_{false};
  std::atomic<base::SteadyTime::rep> alive_{0};  // when Tick ran last
  base::Snapshot<ClientHealth> health_;

  RequestId next_id_ = 1;
  std::unordered_map<RequestId, Request> requests_;
  std::vector<RequestId> parked_;
  std::unique_ptr<Topology> topology_;
  net::IoLoop::Ticker ticker_;
};

}  // namespace activescale::redis
