#include "net/testing/fake_http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace activescale::net {
namespace {

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

/// Reads one request; nothing at the end of the connection. `buffer` keeps what came too early.
std::optional<HttpRequest> ReadRequest(int fd, std::string& buffer) {
  const auto more = [&] {
    char chunk[16384];
    const ssize_t n = recv(fd, chunk, sizeof(chunk), 0);
    if (n > 0) buffer.append(chunk, static_cast<size_t>(n));
    return n > 0;
  };
  size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return std::nullopt;
  }
  HttpRequest request;
  std::string_view head = std::string_view(buffer).substr(0, end + 2);
  const auto take_line = [&head] {
    const size_t eol = head.find("\r\n");
    const std::string_view line = head.substr(0, eol);
    head.remove_prefix(eol + 2);
    return line;
  };
  const std::string_view first = take_line();
  const size_t space = first.find(' ');
  request.method = first.substr(0, space);
  request.target = first.substr(space + 1, first.rfind(' ') - space - 1);
  while (!head.empty()) {
    const std::string_view line = take_line();
    const size_t colon = line.find(':');
    request.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  size_t length = 0;
  const std::string_view text = request.FindHeader("Content-Length");
  std::from_chars(text.data(), text.data() + text.size(), length);
  while (buffer.size() < end + 4 + length) {
    if (!more()) return std::nullopt;
  }
  request.body = buffer.substr(end + 4, length);
  buffer.erase(0, end + 4 + length);
  return request;
}

}  // namespace

void FakeHttpServer::Reply::Send(int status, std::string_view body,
                                 const std::vector<Header>& headers) {
  std::string text =
      fmt::format("HTTP/1.1 {} Status\r\nContent-Length: {}\r\n", status, body.size());
  for (const auto& [name, value] : headers) text += fmt::format("{}: {}\r\n", name, value);
  text += "\r\n";
  text += body;
  WriteAll(fd_, text);
}

void FakeHttpServer::Reply::Start(int status) {
  WriteAll(fd_, fmt::format("HTTP/1.1 {} Status\r\nTransfer-Encoding: chunked\r\n\r\n", status));
}

bool FakeHttpServer::Reply::Chunk(std::string_view data) {
  return WriteAll(fd_, fmt::format("{:x}\r\n{}\r\n", data.size(), data));
}

void FakeHttpServer::Reply::Finish() { WriteAll(fd_, "0\r\n\r\n"); }

void FakeHttpServer::Reply::Raw(std::string_view bytes) { WriteAll(fd_, bytes); }

void FakeHttpServer::Reply::Hang() {
  close_ = true;
  while (!stopping_) {
    pollfd watched{fd_, POLLIN | POLLRDHUP, 0};
    if (poll(&watched, 1, 20) > 0 && (watched.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
      return;
    }
  }
}

FakeHttpServer::FakeHttpServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 128) != 0) {
    std::abort();
  }
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

FakeHttpServer::~FakeHttpServer() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
  std::vector<std::thread> threads;
  {
    base::MutexLock lock(mutex_);
    for (const int fd : fds_) shutdown(fd, SHUT_RDWR);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

std::string FakeHttpServer::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

void FakeHttpServer::Accept() {
  while (!stopping_) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    ++connections_;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    base::MutexLock lock(mutex_);
    fds_.push_back(fd);
    threads_.emplace_back([this, fd] { Serve(fd); });
  }
}

void FakeHttpServer::Serve(int fd) {
  std::string buffer;
  while (!stopping_) {
    const auto request = ReadRequest(fd, buffer);
    if (!request) break;
    Reply reply(fd, stopping_);
    handler_(*request, reply);
    if (reply.close()) break;
  }
  base::MutexLock lock(mutex_);
  std::erase(fds_, fd);
  close(fd);
}

}  // namespace activescale::net
