#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace activescale::redis {

/// Where a server listens. `host` is a name or an IP address, IPv6 without brackets.
struct Address {
  std::string host;
  uint16_t port = 0;

  /// "10.0.0.1:6379", "[::1]:6379".
  [[nodiscard]] std::string ToString() const;
  friend auto operator<=>(const Address&, const Address&) = default;
  friend bool operator==(const Address&, const Address&) = default;
};

/// Parses "host", "host:port", "[v6]", "[v6]:port". Errors: kInvalidArgument, naming the text.
[[nodiscard]] base::Result<Address> ParseAddress(std::string_view text, uint16_t default_port);

}  // namespace activescale::redis
