#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "net/tls_context.h"

namespace activescale::net {

/// A certificate authority for tests. It signs what it is told, also what nobody should trust.
class TestAuthority {
 public:
  struct Client {
    std::string common_name;
    std::vector<std::string> organizations;
    std::string extended_key_usage = "clientAuth";  // "": the certificate has none
    std::chrono::minutes valid_from{-60};           // from the authority's now
    std::chrono::minutes valid_until{60};
  };

  explicit TestAuthority(const std::string& name,
                         base::WallTime now = std::chrono::system_clock::now());

  [[nodiscard]] const std::string& certificate_pem() const { return pair_.certificate_pem; }
  [[nodiscard]] TlsPair Issue(const Client& client) const;
  /// An authority that this one signed; its clients show its certificate as an intermediate.
  [[nodiscard]] TestAuthority Intermediate(const std::string& name) const;

 private:
  TestAuthority(TlsPair pair, base::WallTime now, bool intermediate)
      : pair_(std::move(pair)), now_(now), intermediate_(intermediate) {}

  TlsPair pair_;
  base::WallTime now_;
  bool intermediate_ = false;
};

}  // namespace activescale::net
