#include "kube/ip_address.h"

#include <arpa/inet.h>

#include <string>

namespace activescale::kube {

std::optional<IpAddress> IpAddress::Parse(std::string_view text) {
  const std::string address(text.substr(0, text.find('%')));
  IpAddress ip;
  if (inet_pton(AF_INET6, address.c_str(), ip.bytes_.data()) == 1) return ip;
  if (inet_pton(AF_INET, address.c_str(), ip.bytes_.data() + 12) != 1) return std::nullopt;
  ip.bytes_[10] = 0xff;
  ip.bytes_[11] = 0xff;
  return ip;
}

std::optional<IpAddress> IpAddress::ParsePeer(std::string_view peer) {
  for (const std::string_view scheme : {"ipv4:", "ipv6:"}) {
    if (peer.starts_with(scheme)) peer.remove_prefix(scheme.size());
  }
  for (const auto& [open, close] :
       {std::pair<std::string_view, std::string_view>{"[", "]"}, {"%5B", "%5D"}}) {
    if (!peer.starts_with(open)) continue;
    const size_t end = peer.find(close);
    if (end == std::string_view::npos) return std::nullopt;
    return Parse(peer.substr(open.size(), end - open.size()));
  }
  // One colon ends an IPv4 address; several are an IPv6 address without a port.
  const size_t colon = peer.find(':');
  if (colon != std::string_view::npos && peer.find(':', colon + 1) == std::string_view::npos) {
    peer = peer.substr(0, colon);
  }
  return Parse(peer);
}

std::string IpAddress::ToString() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_v4 = IN6_IS_ADDR_V4MAPPED(reinterpret_cast<const in6_addr*>(bytes_.data()));
  const unsigned char* const bytes = bytes_.data() + (is_v4 ? 12 : 0);
  return inet_ntop(is_v4 ? AF_INET : AF_INET6, bytes, text.data(), text.size());
}

}  // namespace activescale::kube
