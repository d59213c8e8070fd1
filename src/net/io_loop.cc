#include "net/io_loop.h"

#include <optional>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/mutex.h"
#include "net/loop_core.h"

namespace activescale::net {

/// Shared by the handle and the pending wait, so that either may go first.
struct IoLoop::Ticker::State : std::enable_shared_from_this<State> {
  State(boost::asio::io_context& context, std::function<std::chrono::nanoseconds()> function)
      : timer(context), tick(std::move(function)) {}

  void Arm(std::chrono::nanoseconds after) {
    timer.expires_after(after);
    timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (error) return;
      if (const auto next = self->Fire()) self->Arm(*next);
    });
  }

  /// When to fire again; nothing once the handle is gone. The lock is held over the tick, so that
  /// the handle's destructor waits for one that is running.
  std::optional<std::chrono::nanoseconds> Fire() {
    base::MutexLock lock(mutex);
    if (!tick) return std::nullopt;
    return tick();
  }

  boost::asio::steady_timer timer;  // the loop's thread only
  base::Mutex mutex;
  std::function<std::chrono::nanoseconds()> tick GUARDED_BY(mutex);
};

IoLoop::Ticker& IoLoop::Ticker::operator=(Ticker&& other) noexcept {
  if (this != &other) {
    Reset();
    state_ = std::move(other.state_);
  }
  return *this;
}

void IoLoop::Ticker::Reset() {
  if (!state_) return;
  base::MutexLock lock(state_->mutex);
  state_->tick = nullptr;
}

IoLoop::IoLoop() : core_(std::make_shared<LoopCore>()) {}

IoLoop::~IoLoop() = default;

void IoLoop::Run() { core_->context.run(); }

void IoLoop::Stop() { core_->context.stop(); }

void IoLoop::Post(std::move_only_function<void()> work) {
  boost::asio::post(core_->context, std::move(work));
}

bool IoLoop::OnLoopThread() const { return core_->context.get_executor().running_in_this_thread(); }

IoLoop::Ticker IoLoop::Every(std::chrono::milliseconds interval, std::function<void()> tick) {
  auto state = std::make_shared<Ticker::State>(core_->context, [interval, tick = std::move(tick)] {
    tick();
    return interval;
  });
  Post([state, interval] { state->Arm(interval); });
  return Ticker(std::move(state));
}

IoLoop::Ticker IoLoop::Repeat(std::function<std::chrono::nanoseconds()> tick) {
  auto state = std::make_shared<Ticker::State>(core_->context, std::move(tick));
  Post([state] { state->Arm(std::chrono::nanoseconds(0)); });
  return Ticker(std::move(state));
}

}  // namespace activescale::net
