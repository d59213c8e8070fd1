#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "net/io_loop.h"
#include "redis/address.h"
#include "redis/config.h"
#include "redis/link_state.h"
#include "redis/resp.h"
#include "redis/server_clock.h"
#include "redis/stats.h"
#include "redis/transport.h"

namespace activescale::redis {

/// A reply and how the clock of the server that gave it relates to ours.
struct Answer {
  Reply reply;
  std::optional<ServerClock> clock;  // always, but for Sentinels
};

/// Takes the answer, which may be an error reply, or why there is none; called once, on the loop's
/// thread. Errors: kUnavailable if the connection broke: the command may or may not have run.
using ReplyCallback = std::move_only_function<void(base::Result<Answer>)>;

/// What all connections of one client share; must outlive them.
struct Environment {
  net::IoLoop& loop;
  const base::Clock& clock;
  const Config& config;
  std::mt19937_64& random;
  Stats& stats;
};

class Connection;

/// What happens at a Connection; on the loop's thread. The connection must not be destroyed in it.
class ConnectionListener {
 public:
  virtual ~ConnectionListener() = default;
  /// It became ready, or is ready no more.
  virtual void OnLinkChange(Connection& connection) = 0;
  /// A message of a subscription.
  virtual void OnEvent(Connection& /*connection*/, const Reply& /*event*/) {}
};

/// One pipelined connection to one server, kept up: it connects, authenticates, checks that the
/// server is what it should be, and does so again when it was lost. Threads: the loop's.
class Connection final : private TransportHandler {
 public:
  enum class Purpose : uint8_t {
    kMaster,          // refuses a replica
    kClusterNode,     // any node: it redirects what is not its own
    kSentinel,        // asked questions
    kSentinelEvents,  // subscribed to +switch-master
  };

  /// To open a connection and to get ready, all in all.
  static constexpr std::chrono::milliseconds kAttemptTimeout{1000};
  /// Without any byte although an answer is due: the connection is taken for dead.
  static constexpr std::chrono::milliseconds kSilenceTimeout{1000};
  /// An idle connection is asked something this often, so that its state is the real one.
  static constexpr std::chrono::milliseconds kKeepAlive{1000};
  /// Commands and bytes that may wait for answers.
  static constexpr size_t kMaxPending = 16'384;
  static constexpr size_t kMaxPendingBytes = 32 * 1024 * 1024;

  Connection(Environment& environment, Address address, Purpose purpose,
             ConnectionListener& listener);
  /// Commands without an answer are told so.
  ~Connection() override;

  /// Makes attempts, watches for silence. To be called each few tens of milliseconds.
  void Tick(base::SteadyTime now);
  /// Asks for an attempt now if it is not connected; at most one a second. Never blocks.
  void Nudge(base::SteadyTime now);

  /// Sends one command. Errors (at once, `done` is not called): kUnavailable if it is not ready,
  /// kResourceExhausted if too much waits already.
  [[nodiscard]] base::Result<void> Send(std::string_view wire, ReplyCallback& done);
  /// As Send, with ASKING right before the command.
  [[nodiscard]] base::Result<void> SendAsking(std::string_view wire, ReplyCallback& done);
  /// Takes the connection for lost because of what a reply said.
  void Fail(std::string reason);

  [[nodiscard]] bool ready() const { return link_.phase() == LinkPhase::kReady; }
  /// Not ready, but nothing speaks against it yet: no attempt has failed since it last was.
  [[nodiscard]] bool promising() const {
    return !ready() && link_.phase() != LinkPhase::kClosed && link_.attempts() <= 1 &&
           (link_.attempting() || link_.attempts() == 0);
  }
  [[nodiscard]] const Address& address() const { return address_; }
  [[nodiscard]] Purpose purpose() const { return purpose_; }
  [[nodiscard]] const LinkState& link() const { return link_; }
  [[nodiscard]] const std::optional<ServerClock>& clock() const { return clock_; }

 private:
  struct Pending {
    base::SteadyTime sent;
    size_t size = 0;
    bool internal = false;  // asked by the connection itself
    ReplyCallback done;
  };

  void OnOpen() override;
  void OnBytes(std::string_view bytes) override;
  void OnBroken(std::string reason, bool at_end) override;

  void Attempt(base::SteadyTime now);
  base::Result<void> PrepareSend(std::string_view wire);
  void Enqueue(std::string_view wire, bool internal, ReplyCallback done);
  void SendStep(std::string_view wire, std::move_only_function<base::Result<void>(Reply)> check);
  bool SendAuth(const Login& login);
  void AskTime(base::SteadyTime now);
  void OnReply(Reply reply);
  void BecomeReady();
  void Lose(std::string reason, bool idle);
  void FailPending(const std::string& reason);
  void LogLoss(base::SteadyTime now);

  Environment& environment_;
  const Address address_;
  const Purpose purpose_;
  ConnectionListener& listener_;
  LinkState link_;
  std::optional<ServerClock> clock_;

  std::deque<Pending> pending_;
  size_t pending_bytes_ = 0;
  size_t steps_left_ = 0;  // of the handshake
  bool subscribed_ = false;
  base::SteadyTime attempt_started_;
  base::SteadyTime last_received_;
  base::SteadyTime last_asked_time_;
  base::SteadyTime last_log_ = base::SteadyTime::min();
  bool loss_logged_ = false;
  std::string logged_reason_;
  uint64_t generation_ = 0;  // of the transport: an answer's handling may end it

  std::optional<ReplyReader> reader_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace activescale::redis
