#include "net/http_stream.h"

#include <utility>

namespace activescale::net {

bool HttpStream::Send(Piece piece) {
  std::function<void()> wake;
  bool taken = true;
  {
    const base::MutexLock lock(mutex_);
    if (state_ != State::kOpen) return false;
    if (taken_bytes_ + queued_bytes_ + piece->size() > max_unsent_bytes_) {
      state_ = State::kOverflow;
      queue_.clear();
      queued_bytes_ = 0;
      taken = false;
      wake = wake_;
    } else {
      if (queue_.empty()) wake = wake_;  // else the connection knows already
      queued_bytes_ += piece->size();
      queue_.push_back(std::move(piece));
    }
  }
  if (wake) wake();
  return taken;
}

void HttpStream::End() {
  std::function<void()> wake;
  {
    const base::MutexLock lock(mutex_);
    if (state_ != State::kOpen) return;
    state_ = State::kEnded;
    wake = wake_;
  }
  if (wake) wake();
}

bool HttpStream::open() const { return state() == State::kOpen; }

void HttpStream::Attach(std::function<void()> wake) {
  const base::MutexLock lock(mutex_);
  wake_ = std::move(wake);
}

HttpStream::State HttpStream::state() const {
  const base::MutexLock lock(mutex_);
  return state_;
}

std::vector<HttpStream::Piece> HttpStream::Take() {
  const base::MutexLock lock(mutex_);
  taken_bytes_ = std::exchange(queued_bytes_, 0);
  return std::exchange(queue_, {});
}

void HttpStream::Close() {
  const base::MutexLock lock(mutex_);
  state_ = State::kClosed;
  queue_.clear();
  queued_bytes_ = 0;
  wake_ = nullptr;
}

}  // namespace activescale::net
