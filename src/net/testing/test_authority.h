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
    base::WallTime not_before = std::chrono::system_clock::now() - std::chrono::hours(1);
    base::WallTime not_after = std::chrono::system_clock::now() + std::chrono::hours(1);
  };

  explicit TestAuthority(const std::string& name);

  [[nodiscard]] const std::string& certificate_pem() const { return pair_.certificate_pem; }
  [[nodiscard]] TlsPair Issue(const Client& client) const;
  /// An authority that this one signed; its clients show its certificate as an intermediate.
  [[nodiscard]] TestAuthority Intermediate(const std::string& name) const;

 private:
  TestAuthority(TlsPair pair, bool intermediate)
      : pair_(std::move(pair)), intermediate_(intermediate) {}

  TlsPair pair_;
  bool intermediate_ = false;
};

}  // namespace activescale::net
