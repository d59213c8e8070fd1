#pragma once

#include <string>
#include <string_view>

namespace activescale::net {

/// SHA-1 in hex, for protocols that name things by it; not for security.
[[nodiscard]] std::string Sha1Hex(std::string_view text);

}  // namespace activescale::net
