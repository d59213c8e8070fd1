#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace activescale::kube {

/// An IPv4 or IPv6 address; IPv4 and its form within IPv6 are equal. A value type.
class IpAddress {
 public:
  /// Nothing if `text` is no address. A zone ("%eth0") is cut off.
  [[nodiscard]] static std::optional<IpAddress> Parse(std::string_view text);

  /// The address of a connection's peer: "10.0.0.5", "10.0.0.5:4000", "[fd00::5]:4000", and as gRPC
  /// writes it: "ipv4:10.0.0.5:4000", "ipv6:%5Bfd00::5%5D:4000". Nothing for sockets of other
  /// kinds. Source: grpc/grpc:src/core/lib/address_utils/sockaddr_utils.cc.
  [[nodiscard]] static std::optional<IpAddress> ParsePeer(std::string_view peer);

  [[nodiscard]] std::string ToString() const;

  friend bool operator==(const IpAddress&, const IpAddress&) = default;

 private:
  std::array<unsigned char, 16> bytes_{};
};

}  // namespace activescale::kube
