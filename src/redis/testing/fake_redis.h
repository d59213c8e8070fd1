#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "redis/address.h"
#include "redis/resp.h"

namespace activescale::redis {

/// A server on loopback that speaks RESP2 as a test tells it to: scripted answers, errors, silence,
/// closed connections. Without a script it is an empty master: PING, AUTH, SELECT, ROLE, TIME,
/// ASKING and CLIENT are answered, all else is an unknown command. Has a thread. Threads: any.
class FakeRedis {
 public:
  using Args = std::vector<std::string>;
  /// Raw RESP for a command; "" for no answer; nothing for the default. Runs on the fake's thread.
  using Script = std::function<std::optional<std::string>(const Args&)>;

  FakeRedis();
  ~FakeRedis();
  FakeRedis(const FakeRedis&) = delete;
  FakeRedis& operator=(const FakeRedis&) = delete;

  [[nodiscard]] const Address& address() const { return address_; }
  void SetScript(Script script);

  /// Answers nothing from now on, and keeps the connections: a peer that is gone without a word.
  void SetMute(bool mute) { mute_ = mute; }
  /// Closes every connection after what was answered.
  void CloseConnections();
  /// Closes the connections and refuses new ones, until Listen.
  void StopListening();
  /// Listens again, on the same port.
  void Listen();
  /// Sends bytes that nobody asked for, on every connection.
  void SendToAll(std::string bytes);

  [[nodiscard]] int accepted() const { return accepted_; }
  /// How many commands of that name came, any case.
  [[nodiscard]] int Count(const std::string& name) const;
  [[nodiscard]] std::vector<Args> commands() const;

 private:
  struct Peer {
    int fd = -1;
    ReplyReader reader;
  };

  void Run();
  void Wake(std::function<void()> work);
  void Accept();
  /// False once the peer is to be forgotten.
  bool Serve(Peer& peer);
  std::string AnswerTo(const Args& args);

  Address address_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::atomic<bool> stop_{false};
  std::atomic<bool> mute_{false};
  std::atomic<int> accepted_{0};
  mutable base::Mutex mutex_;
  std::vector<std::function<void()>> work_ GUARDED_BY(mutex_);
  std::vector<Args> commands_ GUARDED_BY(mutex_);
  Script script_ GUARDED_BY(mutex_);
  std::map<int, std::unique_ptr<Peer>> peers_;  // the thread's
  std::thread thread_;
};

/// RESP of a bulk string, an array of ready-made elements, an error.
[[nodiscard]] std::string Bulk(std::string_view text);
[[nodiscard]] std::string Array(const std::vector<std::string>& elements);

}  // namespace activescale::redis
