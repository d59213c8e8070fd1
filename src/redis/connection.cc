// Invariants:
// 1. transport_ exists exactly while an attempt runs or the link is ready.
// 2. pending_ has one entry for each command whose reply is to come, in the order sent.
// 3. No text of a reply to AUTH but its first word goes anywhere: servers echo what they refuse.
#include "redis/connection.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "redis/reply_error.h"
#include "redis/sentinel.h"

namespace activescale::redis {
namespace {

// While commands flow, the server's clock is looked at this often; it rides with a command.
constexpr std::chrono::milliseconds kClockAge{100};
// After a connection it is asked some times in a row: the first answers may have been slow.
constexpr std::chrono::milliseconds kFirstInterval{10};
// Of one link that stays down for one reason, and of one that comes and goes or changes its reason.
constexpr std::chrono::seconds kLogInterval{30};
constexpr std::chrono::seconds kLogIntervalOfNews{5};

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

base::Result<void> RequireAuth(const Reply& reply) {
  if (!reply.IsError()) return {};
  if (Classify(reply.text) == ErrorKind::kWrongPass) {
    return base::Fail(base::Code::kUnauthenticated,
                      "the server refused user or password (WRONGPASS): check REDIS_USERNAME, "
                      "REDIS_PASSWORD, REDIS_PASSWORD_FILE");
  }
  return base::Fail(base::Code::kUnauthenticated,
                    fmt::format("the server refused AUTH ({}): it may have no password, or not be "
                                "a Redis",
                                FirstWord(reply.text)));
}

base::Result<void> RequireOk(const Reply& reply) {
  if (!reply.IsError()) return {};
  return base::Fail(base::Code::kUnavailable, Explain(reply.text));
}

}  // namespace

Connection::Connection(Environment& environment, Address address, Purpose purpose,
                       ConnectionListener& listener)
    : environment_(environment),
      address_(std::move(address)),
      purpose_(purpose),
      listener_(listener),
      link_(environment.random, environment.clock.Now()) {}

Connection::~Connection() {
  link_.OnClosed(environment_.clock.Now());
  transport_.reset();
  FailPending("the connection was closed");
}

void Connection::Tick(base::SteadyTime now) {
  if (link_.AttemptDue(now)) return Attempt(now);
  if (link_.attempting() && now - attempt_started_ > kAttemptTimeout) {
    return Fail(fmt::format("cannot connect within 1s: waited for {}",
                            reader_ ? "an answer: it may not be a Redis" : transport_->WaitsFor()));
  }
  if (!ready()) return;
  if (!pending_.empty() &&
      now - std::max(pending_.front().sent, last_received_) > kSilenceTimeout) {
    environment_.stats.timeouts += 1;
    return Fail("no answer for 1s");
  }
  const bool vague = clock_ && clock_->answers() < ServerClock::kManyAnswers;
  if (now - last_asked_time_ >= (vague ? kFirstInterval : kKeepAlive)) AskTime(now);
}

void Connection::Nudge(base::SteadyTime now) {
  if (link_.Nudge(now)) Attempt(now);
}

void Connection::Attempt(base::SteadyTime now) {
  link_.OnAttempt(now);
  environment_.stats.attempts += 1;
  attempt_started_ = now;
  steps_left_ = 0;
  subscribed_ = false;
  reader_.reset();
  ++generation_;
  transport_ = std::make_unique<Transport>(environment_.loop, address_, environment_.config.tls,
                                           static_cast<TransportHandler&>(*this));
}

base::Result<void> Connection::Send(std::string_view wire, ReplyCallback& done) {
  if (auto ok = PrepareSend(wire); !ok) return ok;
  Enqueue(wire, false, std::move(done));
  return {};
}

base::Result<void> Connection::SendAsking(std::string_view wire, ReplyCallback& done) {
  if (auto ok = PrepareSend(wire); !ok) return ok;
  Enqueue(FormatCommand({"ASKING"}), true, [](const base::Result<Answer>&) {});
  Enqueue(wire, false, std::move(done));
  return {};
}

base::Result<void> Connection::PrepareSend(std::string_view wire) {
  if (!ready()) {
    return base::Fail(base::Code::kUnavailable,
                      fmt::format("{} is {}{}{}", address_.ToString(), PhaseName(link_.phase()),
                                  link_.reason().empty() ? "" : ": ", link_.reason()));
  }
  if (pending_.size() >= kMaxPending || pending_bytes_ + wire.size() > kMaxPendingBytes) {
    return base::Fail(base::Code::kResourceExhausted,
                      fmt::format("{}: too many commands wait for an answer", address_.ToString()));
  }
  const base::SteadyTime now = environment_.clock.Now();
  if (now - last_asked_time_ >= kClockAge) AskTime(now);
  environment_.stats.commands += 1;
  return {};
}

void Connection::Enqueue(std::string_view wire, bool internal, ReplyCallback done) {
  pending_.push_back({environment_.clock.Now(), wire.size(), internal, std::move(done)});
  pending_bytes_ += wire.size();
  if (!internal) environment_.stats.in_flight += 1;
  transport_->Write(wire);
}

void Connection::SendStep(std::string_view wire,
                          std::move_only_function<base::Result<void>(Reply)> check) {
  ++steps_left_;
  Enqueue(wire, true, [this, check = std::move(check)](base::Result<Answer> answer) mutable {
    if (!answer) return;  // lost; told already
    if (auto ok = check(std::move(answer->reply)); !ok) return Fail(std::move(ok.error().message));
    if (--steps_left_ == 0) BecomeReady();
  });
}

bool Connection::SendAuth(const Login& login) {
  if (login.empty()) return true;
  auto password = login.ReadPassword();
  if (!password) {
    Fail(std::move(password.error().message));
    return false;
  }
  SendStep(login.user.empty() ? FormatCommand({"AUTH", password->Reveal()})
                              : FormatCommand({"AUTH", login.user, password->Reveal()}),
           RequireAuth);
  return true;
}

void Connection::OnOpen() {
  reader_.emplace();
  last_received_ = environment_.clock.Now();
  const bool sentinel = purpose_ == Purpose::kSentinel || purpose_ == Purpose::kSentinelEvents;
  const Config& config = environment_.config;
  if (!SendAuth(sentinel ? config.sentinel_login : config.login)) return;
  if (purpose_ == Purpose::kSentinelEvents) {
    subscribed_ = true;
    SendStep(FormatCommand({"SUBSCRIBE", "+switch-master"}), RequireOk);
    return;
  }
  // PING is refused where nothing else is: by a server that loads its data or wants a password.
  SendStep(FormatCommand({"PING"}), RequireOk);
  if (sentinel) return;
  if (config.database != 0) {
    SendStep(FormatCommand({"SELECT", std::to_string(config.database)}), RequireOk);
  }
  if (purpose_ == Purpose::kMaster) SendStep(FormatCommand({"ROLE"}), RequireMaster);
  const base::SteadyTime sent = environment_.clock.Now();
  SendStep(FormatCommand({"TIME"}), [this, sent](const Reply& reply) -> base::Result<void> {
    if (auto ok = RequireOk(reply); !ok) return ok;
    auto time = ParseTime(reply);
    if (!time) return std::unexpected(std::move(time.error()));
    clock_.emplace(sent, environment_.clock.Now(), *time);
    return {};
  });
}

void Connection::AskTime(base::SteadyTime now) {
  last_asked_time_ = now;
  if (!clock_) {  // a Sentinel knows no TIME
    Enqueue(FormatCommand({"PING"}), true, [](const base::Result<Answer>&) {});
    return;
  }
  Enqueue(FormatCommand({"TIME"}), true, [this, now](const base::Result<Answer>& answer) {
    if (!answer) return;
    // Whatever it says, the link lives: what is wrong with the server shows in callers' replies.
    if (const auto time = ParseTime(answer->reply)) {
      clock_->Observe(now, environment_.clock.Now(), *time);
    }
  });
}

void Connection::OnBytes(std::string_view bytes) {
  last_received_ = environment_.clock.Now();
  const uint64_t generation = generation_;
  if (auto fed = reader_->Feed(bytes); !fed) return Fail(std::move(fed.error().message));
  while (transport_ && generation == generation_) {
    auto next = reader_->Next();
    if (!next) {
      return Fail(fmt::format("it does not speak Redis's protocol: {}", next.error().message));
    }
    if (!*next) return;
    OnReply(std::move(**next));
  }
}

void Connection::OnReply(Reply reply) {
  // A subscribed connection answers PING in line with its messages.
  const bool message = !reply.elements.empty() && reply.elements[0].text != "pong";
  if (subscribed_ && ready() && message) return listener_.OnEvent(*this, reply);
  if (pending_.empty()) return Fail("it sent a reply that nobody asked for");
  Pending command = std::move(pending_.front());
  pending_.pop_front();
  pending_bytes_ -= command.size;
  if (!command.internal) environment_.stats.in_flight -= 1;
  command.done(Answer{std::move(reply), clock_});
}

void Connection::BecomeReady() {
  const base::SteadyTime now = environment_.clock.Now();
  if (std::exchange(loss_logged_, false)) {
    LOG_INFO("redis {}: ready again after {:.1f}s and {} attempts", address_.ToString(),
             Seconds(now - link_.since()), link_.attempts());
  } else {
    VLOG(1, "redis {}: ready", address_.ToString());
  }
  link_.OnReady(now);
  last_asked_time_ = now;
  listener_.OnLinkChange(*this);
}

void Connection::OnBroken(std::string reason, bool at_end) {
  bool asked = false;
  for (const Pending& command : pending_) asked = asked || !command.internal;
  if (!ready() && reader_ && !environment_.config.tls.enabled) {
    reason += ", before it answered: it may be a TLS port (rediss://)";
  }
  Lose(std::move(reason), at_end && ready() && !asked);
}

void Connection::Fail(std::string reason) { Lose(std::move(reason), false); }

void Connection::Lose(std::string reason, bool idle) {
  if (!transport_) return;
  const base::SteadyTime now = environment_.clock.Now();
  const bool was_ready = ready();
  transport_.reset();
  if (idle) {
    link_.OnIdleClosed(now);
  } else {
    (was_ready ? environment_.stats.lost : environment_.stats.failed_attempts) += 1;
    link_.OnLost(now, std::move(reason));
    LogLoss(now);
  }
  clock_.reset();
  listener_.OnLinkChange(*this);
  FailPending(idle ? "the server closed the connection" : link_.reason());
}

void Connection::FailPending(const std::string& reason) {
  pending_bytes_ = 0;
  std::deque<Pending> pending = std::exchange(pending_, {});
  for (Pending& command : pending) {
    if (!command.internal) environment_.stats.in_flight -= 1;
    command.done(
        base::Fail(base::Code::kUnavailable, fmt::format("{}: {}", address_.ToString(), reason)));
  }
}

void Connection::LogLoss(base::SteadyTime now) {
  const bool news = link_.since() == now || link_.reason() != logged_reason_;
  const auto interval = news ? kLogIntervalOfNews : kLogInterval;
  if (last_log_ != base::SteadyTime::min() && now - last_log_ < interval) return;
  last_log_ = now;
  loss_logged_ = true;
  logged_reason_ = link_.reason();
  LOG_WARNING("redis {}: failing for {:.1f}s ({} attempts): {}", address_.ToString(),
              Seconds(now - link_.since()), link_.attempts(), link_.reason());
}

}  // namespace activescale::redis
