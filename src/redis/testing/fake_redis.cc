#include "redis/testing/fake_redis.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <memory>
#include <utility>

namespace activescale::redis {
namespace {

void Require(bool ok, const char* what) {
  if (ok) return;
  perror(what);
  std::abort();
}

int ListenOn(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  Require(fd >= 0, "socket");
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  Require(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0, "bind");
  Require(listen(fd, 64) == 0, "listen");
  return fd;
}

uint16_t PortOf(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string TimeNow() {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  return Array(
      {Bulk(std::to_string(micros / 1'000'000)), Bulk(std::to_string(micros % 1'000'000))});
}

}  // namespace

std::string Bulk(std::string_view text) { return fmt::format("${}\r\n{}\r\n", text.size(), text); }

std::string Array(const std::vector<std::string>& elements) {
  std::string out = fmt::format("*{}\r\n", elements.size());
  for (const std::string& element : elements) out += element;
  return out;
}

FakeRedis::FakeRedis() : listener_(ListenOn(0)) {
  address_ = {"127.0.0.1", PortOf(listener_)};
  Require(pipe(wake_) == 0, "pipe");
  thread_ = std::thread([this] { Run(); });
}

FakeRedis::~FakeRedis() {
  stop_ = true;
  Wake([] {});
  thread_.join();
  for (const auto& [fd, peer] : peers_) close(fd);
  for (const int fd : {listener_, wake_[0], wake_[1]}) {
    if (fd >= 0) close(fd);
  }
}

void FakeRedis::SetScript(Script script) {
  base::MutexLock lock(mutex_);
  script_ = std::move(script);
}

void FakeRedis::Wake(std::function<void()> work) {
  {
    base::MutexLock lock(mutex_);
    work_.push_back(std::move(work));
  }
  Require(write(wake_[1], "x", 1) == 1, "write");
}

void FakeRedis::CloseConnections() {
  std::promise<void> done;
  Wake([&] {
    for (const auto& [fd, peer] : peers_) close(fd);
    peers_.clear();
    done.set_value();
  });
  done.get_future().wait();
}

void FakeRedis::StopListening() {
  std::promise<void> done;
  Wake([&] {
    close(std::exchange(listener_, -1));
    done.set_value();
  });
  done.get_future().wait();
  CloseConnections();
}

void FakeRedis::Listen() {
  std::promise<void> done;
  Wake([&] {
    listener_ = ListenOn(address_.port);
    done.set_value();
  });
  done.get_future().wait();
}

void FakeRedis::SendToAll(std::string bytes) {
  Wake([this, bytes = std::move(bytes)] {
    for (const auto& [fd, peer] : peers_) (void)send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  });
}

int FakeRedis::Count(const std::string& name) const {
  base::MutexLock lock(mutex_);
  return static_cast<int>(std::ranges::count_if(
      commands_, [&](const Args& args) { return Upper(args.at(0)) == Upper(name); }));
}

std::vector<FakeRedis::Args> FakeRedis::commands() const {
  base::MutexLock lock(mutex_);
  return commands_;
}

void FakeRedis::Run() {
  while (!stop_) {
    std::vector<pollfd> fds = {{wake_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const auto& [fd, peer] : peers_) fds.push_back({fd, POLLIN, 0});
    if (poll(fds.data(), fds.size(), -1) < 0) continue;
    if (fds[0].revents != 0) {
      char byte;
      Require(read(wake_[0], &byte, 1) == 1, "read");
      std::vector<std::function<void()>> work;
      {
        base::MutexLock lock(mutex_);
        work.swap(work_);
      }
      for (const auto& run : work) run();
      continue;  // the set of connections may be another one
    }
    if (fds[1].revents != 0) Accept();
    for (size_t i = 2; i < fds.size(); ++i) {
      if (fds[i].revents == 0) continue;
      const auto it = peers_.find(fds[i].fd);
      if (it == peers_.end() || Serve(*it->second)) continue;
      close(it->first);
      peers_.erase(it);
    }
  }
}

void FakeRedis::Accept() {
  const int fd = accept(listener_, nullptr, nullptr);
  if (fd < 0) return;
  ++accepted_;
  auto peer = std::make_unique<Peer>();
  peer->fd = fd;
  peers_[fd] = std::move(peer);
}

bool FakeRedis::Serve(Peer& peer) {
  char buffer[65536];
  const ssize_t size = recv(peer.fd, buffer, sizeof(buffer), 0);
  if (size <= 0) return false;
  if (!peer.reader.Feed(std::string_view(buffer, static_cast<size_t>(size)))) return false;
  std::string out;
  for (;;) {
    auto next = peer.reader.Next();
    if (!next) return false;
    if (!*next) break;
    Args args;
    for (Reply& element : (*next)->elements) args.push_back(std::move(element.text));
    if (args.empty()) return false;
    out += AnswerTo(args);
  }
  if (!mute_ && !out.empty()) (void)send(peer.fd, out.data(), out.size(), MSG_NOSIGNAL);
  return true;
}

std::string FakeRedis::AnswerTo(const Args& args) {
  Script script;
  {
    base::MutexLock lock(mutex_);
    commands_.push_back(args);
    script = script_;
  }
  if (script) {
    if (auto scripted = script(args)) return *scripted;
  }
  const std::string name = Upper(args[0]);
  if (name == "PING") return "+PONG\r\n";
  if (name == "ROLE") return Array({Bulk("master"), ":0\r\n", Array({})});
  if (name == "TIME") return TimeNow();
  if (name == "AUTH" || name == "SELECT" || name == "ASKING" || name == "CLIENT") return "+OK\r\n";
  return fmt::format("-ERR unknown command '{}'\r\n", args[0]);
}

}  // namespace activescale::redis
