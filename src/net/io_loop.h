#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace activescale::net {

struct LoopCore;  // Asio's part, in net/loop_core.h

/// One event loop: sockets, posted work and ticks, all on the one thread that calls Run.
/// The thread is made by the caller. What is registered here outlives neither Run nor its owner.
class IoLoop {
 public:
  /// Keeps a tick going; stops it when destroyed. After the destructor returns no tick runs any
  /// more. Destroy it on another thread or after Run, never in its own tick.
  class Ticker {
   public:
    struct State;
    Ticker() = default;
    explicit Ticker(std::shared_ptr<State> state) : state_(std::move(state)) {}
    ~Ticker() { Reset(); }
    Ticker(Ticker&& other) noexcept = default;
    Ticker& operator=(Ticker&& other) noexcept;
    Ticker(const Ticker&) = delete;
    Ticker& operator=(const Ticker&) = delete;

   private:
    void Reset();
    std::shared_ptr<State> state_;
  };

  IoLoop();
  /// Run must have returned, or never been called. Work that was posted and not run is dropped.
  ~IoLoop();
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;

  /// Serves until Stop. Call once, from the thread that is to be the loop's.
  void Run();
  /// Makes Run return after the piece of work in hand. Threads: any.
  void Stop();
  /// Runs `work` on the loop's thread, after what was posted before. Threads: any.
  void Post(std::move_only_function<void()> work);
  /// True on the thread inside Run.
  [[nodiscard]] bool OnLoopThread() const;
  /// Calls `tick` on the loop's thread each `interval`, for the first time after one interval.
  /// Threads: any.
  [[nodiscard]] Ticker Every(std::chrono::milliseconds interval, std::function<void()> tick);
  /// Calls `tick` on the loop's thread, and each time again after as long as it returned.
  /// Threads: any.
  [[nodiscard]] Ticker Repeat(std::function<std::chrono::nanoseconds()> tick);

  /// For net's own parts: shared, so that an answer that comes after the loop's end finds
  /// something to be dropped in.
  [[nodiscard]] const std::shared_ptr<LoopCore>& core() const { return core_; }

 private:
  std::shared_ptr<LoopCore> core_;
};

}  // namespace activescale::net
