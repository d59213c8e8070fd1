#include "app/tcp_probe.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

namespace activescale::app {

base::Result<void> ProbeTcp(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("\"{}\" is not HOST:PORT", address));
  }
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int fault = getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &list)) {
    return base::Fail(base::Code::kUnavailable,
                      fmt::format("{}: {}", address, gai_strerror(fault)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, freeaddrinfo);
  int fault = EADDRNOTAVAIL;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    const int socket_fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (socket_fd < 0) continue;
    const timeval limit{.tv_sec = 3, .tv_usec = 0};
    setsockopt(socket_fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    const bool connected = connect(socket_fd, at->ai_addr, at->ai_addrlen) == 0;
    fault = errno;
    close(socket_fd);
    if (connected) return {};
  }
  // A connect that ran into its limit of time says EINPROGRESS.
  if (fault == EINPROGRESS) fault = ETIMEDOUT;
  return base::Fail(base::Code::kUnavailable,
                    fmt::format("{}: {}", address, std::generic_category().message(fault)));
}

}  // namespace activescale::app
