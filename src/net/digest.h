#pragma once

#include <string>
#include <string_view>

namespace activescale::net {

/// SHA-1 in hex, for protocols that name things by it; not for security.
[[nodiscard]] std::string Sha1Hex(std::string_view text);

/// SHA-256 as 32 raw bytes: a key that stands for a secret without being it.
[[nodiscard]] std::string Sha256(std::string_view text);

}  // namespace activescale::net
