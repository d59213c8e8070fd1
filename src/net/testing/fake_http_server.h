#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "net/http_types.h"

namespace activescale::net {

/// A plain HTTP/1.1 server on loopback whose answers a test writes, well-formed or not. Each
/// connection has a thread of its own, so that a handler may block.
class FakeHttpServer {
 public:
  /// Where a handler writes its answer: one Send, or Start, Chunks and Finish, or raw bytes.
  class Reply {
   public:
    Reply(int fd, const std::atomic<bool>& stopping) : fd_(fd), stopping_(stopping) {}
    void Send(int status, std::string_view body, const std::vector<Header>& headers = {});
    void Start(int status);
    /// False if the client is gone.
    bool Chunk(std::string_view data);
    void Finish();
    void Raw(std::string_view bytes);
    /// Returns when the client has closed the connection or the server stops; says nothing.
    void Hang();
    /// Closes the connection after the handler.
    void Close() { close_ = true; }
    [[nodiscard]] bool close() const { return close_; }

   private:
    int fd_;
    const std::atomic<bool>& stopping_;
    bool close_ = false;
  };
  using Handler = std::function<void(const HttpRequest&, Reply&)>;

  explicit FakeHttpServer(Handler handler);
  ~FakeHttpServer();
  FakeHttpServer(const FakeHttpServer&) = delete;
  FakeHttpServer& operator=(const FakeHttpServer&) = delete;

  [[nodiscard]] std::string url() const;
  [[nodiscard]] size_t connections() const { return connections_; }

 private:
  void Accept();
  void Serve(int fd);

  Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<size_t> connections_{0};
  base::Mutex mutex_;
  std::vector<int> fds_ GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ GUARDED_BY(mutex_);
  std::thread acceptor_;
};

}  // namespace activescale::net
