#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/error.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace activescale::net {

/// A certificate chain (leaf first) and the leaf's private key, both PEM.
struct TlsPair {
  std::string certificate_pem;
  std::string private_key_pem;

  friend bool operator==(const TlsPair&, const TlsPair&) = default;
};

/// What a server needs to accept TLS connections: at least TLS 1.2, ALPN http/1.1. A client
/// certificate is asked for, neither required nor verified: that is the authenticator's work, whose
/// answer is a 401 and not a broken handshake. Sessions are not resumed, so that no identity
/// outlives a reload. Immutable; connections keep the one they began with. Threads: any.
/// Source: kubernetes/apiserver:pkg/server/secure_serving.go.
class TlsContext {
 public:
  /// Errors: kInvalidArgument if a PEM does not parse or the key is not the certificate's.
  static base::Result<std::shared_ptr<const TlsContext>> ForServer(const TlsPair& pair);

  /// When the leaf expires.
  [[nodiscard]] base::WallTime not_after() const { return not_after_; }
  [[nodiscard]] ssl_ctx_st* native() const { return native_.get(); }

 private:
  struct FreeContext {
    void operator()(ssl_ctx_st* context) const;
  };
  TlsContext(std::unique_ptr<ssl_ctx_st, FreeContext> native, base::WallTime not_after)
      : native_(std::move(native)), not_after_(not_after) {}

  std::unique_ptr<ssl_ctx_st, FreeContext> native_;
  base::WallTime not_after_;
};

}  // namespace activescale::net
