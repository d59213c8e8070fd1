// Invariants:
// 1. A request is in requests_ from Send until its callback is called, which is the last thing
//    done with it; an answer that comes for an id that is gone is dropped.
// 2. topology_ is null before Start's work ran on the loop, and set ever after.
#include "redis/client.h"

#include <fmt/format.h>

#include <utility>

#include "redis/reply_error.h"

namespace activescale::redis {
namespace {

constexpr std::chrono::seconds kLoopHangs{5};
constexpr size_t kMaxRequests = 65'536;
// First try, a slot that moved twice, one ASK and two lost connections.
constexpr int kMaxTries = 6;

std::unique_ptr<Topology> MakeTopology(Environment& environment, TopologyListener& listener) {
  switch (environment.config.mode) {
    case Mode::kStandalone:
      return MakeStandalone(environment, listener);
    case Mode::kSentinel:
      return MakeSentinel(environment, listener);
    case Mode::kCluster:
      return MakeCluster(environment, listener);
  }
  return nullptr;
}

}  // namespace

Client::Client(net::IoLoop& loop, const base::Clock& clock, Config config, uint64_t seed)
    : loop_(loop),
      clock_(clock),
      config_(std::move(config)),
      random_(seed),
      environment_{loop, clock, config_, random_, stats_},
      health_(std::make_shared<const ClientHealth>()) {}

Client::~Client() {
  // Callbacks of what is under way come now, while the rest of the client still exists.
  ticker_ = {};
  topology_.reset();
  while (!requests_.empty()) {
    Finish(requests_.begin()->first,
           base::Fail(base::Code::kUnavailable, "the Redis client is being closed"));
  }
}

void Client::Start(Hooks hooks) {
  hooks_ = std::move(hooks);
  alive_ = clock_.Now().time_since_epoch().count();
  loop_.Post([this] {
    topology_ = MakeTopology(environment_, *this);
    OnHealthChange();
    Tick();
  });
  ticker_ = loop_.Every(kTick, [this] { Tick(); });
}

void Client::Tick() {
  const base::SteadyTime now = clock_.Now();
  alive_ = now.time_since_epoch().count();
  topology_->Tick(now);
  DispatchParked();
  std::vector<RequestId> late;
  for (const auto& [id, request] : requests_) {
    if (now >= request.deadline) late.push_back(id);
  }
  for (const RequestId id : late) {
    stats_.timeouts += 1;
    Finish(id, base::Fail(base::Code::kDeadlineExceeded, "Redis did not answer in time"));
  }
  if (hooks_.on_tick) hooks_.on_tick();
}

void Client::Send(uint16_t slot, std::string wire, std::chrono::milliseconds timeout,
                  ReplyCallback done) {
  if (requests_.size() >= kMaxRequests || !topology_) {
    return done(
        base::Fail(base::Code::kResourceExhausted, topology_ ? "too many commands wait for Redis"
                                                             : "the Redis client has not started"));
  }
  const RequestId id = next_id_++;
  requests_.emplace(
      id, Request{slot, std::move(wire), clock_.Now() + timeout, 0, false, {}, std::move(done)});
  Dispatch(id);
}

void Client::Dispatch(RequestId id) {
  Request& request = requests_.at(id);
  Connection* connection = request.ask ? topology_->Follow(request.slot, *request.ask, false)
                                       : topology_->Route(request.slot);
  if (connection != nullptr && connection->ready()) return Transmit(id, request, *connection);
  if (connection != nullptr && connection->promising()) {
    if (!std::exchange(request.parked, true)) parked_.push_back(id);
    return;
  }
  const std::string reason =
      connection == nullptr
          ? std::string("no Redis master is known for it")
          : fmt::format("Redis at {} is {}: {}", connection->address().ToString(),
                        PhaseName(connection->link().phase()), connection->link().reason());
  Finish(id, base::Fail(base::Code::kUnavailable, reason));
}

void Client::Transmit(RequestId id, Request& request, Connection& connection) {
  if (request.tries++ > 0) stats_.retries += 1;
  ReplyCallback done = [this, id, from = connection.address()](base::Result<Answer> answer) {
    OnAnswer(id, from, std::move(answer));
  };
  const bool asking = std::exchange(request.ask, std::nullopt).has_value();
  auto sent =
      asking ? connection.SendAsking(request.wire, done) : connection.Send(request.wire, done);
  if (!sent) Finish(id, std::unexpected(std::move(sent.error())));
}

void Client::OnAnswer(RequestId id, const Address& from, base::Result<Answer> answer) {
  const auto it = requests_.find(id);
  if (it == requests_.end()) return;
  Request& request = it->second;
  if (answer && answer->reply.IsError() && !IsForCaller(id, request, from, answer->reply)) return;
  const bool again = !answer && topology_ && request.tries < kMaxTries;
  if (again) return Dispatch(id);
  Finish(id, std::move(answer));
}

bool Client::IsForCaller(RequestId id, Request& request, const Address& from, const Reply& reply) {
  const ErrorKind kind = Classify(reply.text);
  switch (kind) {
    case ErrorKind::kMoved:
    case ErrorKind::kAsk:
      FollowRedirect(id, request, from, reply);
      return false;
    case ErrorKind::kClusterDown:
      topology_->Suspect();
      Finish(id, base::Fail(base::Code::kUnavailable,
                            fmt::format("{}: {}", from.ToString(), Explain(reply.text))));
      return false;
    case ErrorKind::kReadOnly:
    case ErrorKind::kMasterDown:
    case ErrorKind::kLoading:
    case ErrorKind::kNoAuth: {
      // The server is not, or no longer, what we need: enter again, and look who is.
      topology_->Suspect();
      if (Connection* connection = topology_->Route(request.slot);
          connection != nullptr && connection->address() == from) {
        connection->Fail(Explain(reply.text));
      }
      if (requests_.contains(id)) Dispatch(id);
      return false;
    }
    default:
      return true;
  }
}

void Client::FollowRedirect(RequestId id, Request& request, const Address& from,
                            const Reply& reply) {
  stats_.redirects += 1;
  const auto redirect = ParseRedirect(reply.text, from);
  const bool moved = Classify(reply.text) == ErrorKind::kMoved;
  Connection* target = nullptr;
  if (redirect && request.tries < kMaxTries) {
    target = topology_->Follow(redirect->slot, redirect->target, moved);
  }
  if (target == nullptr) {
    return Finish(id, base::Fail(base::Code::kUnavailable,
                                 fmt::format("{}: {}", from.ToString(), Explain(reply.text))));
  }
  if (!moved) request.ask = redirect->target;
  Dispatch(id);
}

void Client::Finish(RequestId id, base::Result<Answer> answer) {
  const auto it = requests_.find(id);
  if (it == requests_.end()) return;
  ReplyCallback done = std::move(it->second.done);
  requests_.erase(it);
  done(std::move(answer));
}

void Client::DispatchParked() {
  const std::vector<RequestId> parked = std::exchange(parked_, {});
  for (const RequestId id : parked) {
    const auto it = requests_.find(id);
    if (it == requests_.end()) continue;
    it->second.parked = false;
    Dispatch(id);
  }
}

void Client::OnRoutesReady(const SlotSet& slots) {
  DispatchParked();
  if (hooks_.on_routes_ready) hooks_.on_routes_ready(slots);
}

void Client::OnHealthChange() {
  if (!topology_) return;
  auto health = std::make_shared<ClientHealth>();
  topology_->Describe(*health);
  health_.Set(std::move(health));
}

bool Client::Ready(uint16_t slot) {
  const Connection* connection = topology_ ? topology_->Route(slot) : nullptr;
  return connection != nullptr && connection->ready();
}

std::optional<ServerClock> Client::ClockOf(uint16_t slot) {
  const Connection* connection = topology_ ? topology_->Route(slot) : nullptr;
  return connection == nullptr ? std::nullopt : connection->clock();
}

void Client::Nudge() {
  if (nudge_posted_.exchange(true)) return;
  loop_.Post([this] {
    nudge_posted_ = false;
    if (topology_) topology_->Nudge(clock_.Now());
  });
}

HealthSummary Client::Check() const {
  const base::SteadyTime now = clock_.Now();
  const base::SteadyTime alive{base::SteadyTime::duration(alive_.load())};
  if (now - alive > kLoopHangs) {
    return {false, false,
            fmt::format("the Redis thread has not run for {:.0f}s",
                        std::chrono::duration<double>(now - alive).count())};
  }
  return Summarize(*health_.Get(), now);
}

}  // namespace activescale::redis
