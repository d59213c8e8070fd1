#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "net/tls_context.h"

namespace activescale::net {

/// Makes a P-256 key and a certificate that signs itself, for serving.
/// `names` are the DNS names and IP addresses it is good for; the first is the common name too.
/// Valid from an hour before `now` (clocks differ) for `lifetime` after it.
/// Errors: kInvalidArgument for no names; kInternal if OpenSSL fails.
[[nodiscard]] base::Result<TlsPair> MakeSelfSigned(const std::vector<std::string>& names,
                                                   base::WallTime now, std::chrono::hours lifetime);

/// Makes a certificate authority's own pair: it signs other certificates and nothing else.
/// Errors: kInternal if OpenSSL fails.
[[nodiscard]] base::Result<TlsPair> MakeAuthority(const std::string& common_name,
                                                  base::WallTime now, std::chrono::hours lifetime);

/// Makes a new key and a serving certificate for `names`, signed by `authority`, as MakeSelfSigned
/// otherwise. Errors: also kInvalidArgument if `authority` does not parse.
[[nodiscard]] base::Result<TlsPair> MakeSigned(const TlsPair& authority,
                                               const std::vector<std::string>& names,
                                               base::WallTime now, std::chrono::hours lifetime);

/// "localhost", the loopback addresses and this host's name.
[[nodiscard]] std::vector<std::string> LocalNames();

}  // namespace activescale::net
