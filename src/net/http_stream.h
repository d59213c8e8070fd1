#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace activescale::net {

/// The body of an answer that comes in pieces for as long as both sides want it, such as
/// server-sent events. A handler makes it, puts it into its HttpResponse and keeps it to send; it
/// ends with the connection, so that it needs no framing. Threads: any.
class HttpStream {
 public:
  using Piece = std::shared_ptr<const std::string>;

  /// A client that leaves more than `max_unsent_bytes` unread is cut: no stream waits for its
  /// reader, and none grows.
  explicit HttpStream(size_t max_unsent_bytes) : max_unsent_bytes_(max_unsent_bytes) {}

  /// Queues a piece, which streams that send the same share. Never blocks. False once the stream is
  /// over: nobody will read this piece or any later one.
  bool Send(Piece piece);
  /// Ends the answer after what was sent. Who forgets it keeps the client waiting.
  void End();
  [[nodiscard]] bool open() const;

  /// What follows is for the connection, on its loop's thread, but `wake`, which may run on any.
  enum class State : unsigned char {
    kOpen,
    kEnded,     // the rest is to be sent
    kOverflow,  // the client did not read
    kClosed,    // there is no connection any more
  };
  /// `wake` tells that there is something to take, or another state.
  void Attach(std::function<void()> wake);
  [[nodiscard]] State state() const;
  /// What was queued since; it counts as unsent until the next call.
  [[nodiscard]] std::vector<Piece> Take();
  void Close();

 private:
  const size_t max_unsent_bytes_;
  mutable base::Mutex mutex_;
  State state_ GUARDED_BY(mutex_) = State::kOpen;
  std::vector<Piece> queue_ GUARDED_BY(mutex_);
  size_t queued_bytes_ GUARDED_BY(mutex_) = 0;
  size_t taken_bytes_ GUARDED_BY(mutex_) = 0;
  std::function<void()> wake_ GUARDED_BY(mutex_);
};

}  // namespace activescale::net
