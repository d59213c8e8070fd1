#include "redis/address.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace activescale::redis {
namespace {

base::Result<uint16_t> ParsePort(std::string_view text, std::string_view whole) {
  uint32_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0 || port > 65535) {
    return base::Fail(
        base::Code::kInvalidArgument,
        fmt::format("Redis address \"{}\": the port must be a number from 1 to 65535", whole));
  }
  return static_cast<uint16_t>(port);
}

base::Result<Address> Finish(std::string_view host, std::string_view port_part,
                             std::string_view whole, uint16_t default_port) {
  if (host.empty() || host.find_first_of(" \t/@[]") != std::string_view::npos) {
    return base::Fail(base::Code::kInvalidArgument,
                      fmt::format("Redis address \"{}\": write host:port, e.g. redis:6379", whole));
  }
  if (port_part.empty()) return Address{std::string(host), default_port};
  auto port = ParsePort(port_part.substr(1), whole);
  if (!port) return std::unexpected(port.error());
  return Address{std::string(host), *port};
}

}  // namespace

std::string Address::ToString() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

base::Result<Address> ParseAddress(std::string_view text, uint16_t default_port) {
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    const std::string_view rest =
        close == std::string_view::npos ? std::string_view("?") : text.substr(close + 1);
    if (!rest.empty() && !rest.starts_with(':')) return Finish("", "", text, default_port);
    return Finish(text.substr(1, close - 1), rest, text, default_port);
  }
  // Two colons without brackets: an IPv6 address without a port, as REDIS_ADDR may carry one.
  if (std::ranges::count(text, ':') > 1) return Finish(text, "", text, default_port);
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return Finish(text, "", text, default_port);
  return Finish(text.substr(0, colon), text.substr(colon), text, default_port);
}

}  // namespace activescale::redis
