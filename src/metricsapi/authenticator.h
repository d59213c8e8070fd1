#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "kube/delegated_auth_config.h"
#include "kube/reviews.h"
#include "metricsapi/review_cache.h"
#include "net/client_certificate.h"
#include "net/http_types.h"
#include "telemetry/registry.h"

namespace activescale::metricsapi {

/// Finds out who sent a request, as every server behind kube-apiserver's aggregator does, in this
/// order: the aggregator's headers (its certificate must be signed by the request-header authority
/// and bear an allowed name), a client certificate of the cluster, a bearer token, nobody. Bad
/// credentials are refused even though none at all would make the anonymous user.
/// Threads: any.
/// Source: kubernetes/apiserver:pkg/authentication/authenticatorfactory/delegating.go.
class Authenticator {
 public:
  struct Options {
    /// Go on with tokens alone while the configuration of kube-apiserver was never read; else such
    /// requests are 503.
    bool tolerate_lookup_failure = false;
    std::chrono::nanoseconds token_ttl = std::chrono::seconds(10);
  };
  /// The newest configuration, null if there never was one. Called with every request.
  using ConfigSource = std::function<std::shared_ptr<const kube::DelegatedAuthConfig>()>;
  /// Errors: kUnauthenticated, with the reason; kUnavailable, no configuration yet.
  using Callback = std::move_only_function<void(base::Result<kube::UserInfo>)>;

  /// All of them must outlive this and every answer.
  Authenticator(ConfigSource config, kube::TokenReviewer& tokens, const base::Clock& clock,
                telemetry::Registry& registry, const Options& options);

  /// `done` runs exactly once, at once unless a token must be reviewed. `request` is not used after
  /// the call returns.
  void Authenticate(const net::HttpRequest& request, Callback done);

 private:
  /// The configuration in use with its authorities made ready; a null verifier means that there are
  /// none of that kind.
  struct Trust {
    std::shared_ptr<const kube::DelegatedAuthConfig> config;
    std::shared_ptr<net::ClientCertificateVerifier> aggregator;
    std::shared_ptr<net::ClientCertificateVerifier> clients;
  };
  enum Method { kRequestHeader, kCertificate, kToken, kAnonymous, kMethods };

  std::shared_ptr<const Trust> CurrentTrust();
  /// A user, or why the certificate speaks for none; nothing if no authority is configured.
  std::optional<base::Result<kube::UserInfo>> ByCertificate(const net::HttpRequest& request,
                                                            const Trust& trust);
  base::Result<kube::UserInfo> ByRequestHeader(const net::HttpRequest& request,
                                               const Trust& trust) const;
  base::Result<kube::UserInfo> ByClientCertificate(const std::string& chain_pem,
                                                   const Trust& trust) const;
  void ByToken(std::string token, Callback done);
  base::Result<kube::UserInfo> Accept(Method method, kube::UserInfo user);
  base::Result<kube::UserInfo> Refuse(Method method, std::string reason);

  const ConfigSource config_;
  kube::TokenReviewer& tokens_;
  const base::Clock& clock_;
  const Options options_;
  ReviewCache<std::optional<kube::UserInfo>> token_cache_;
  std::array<telemetry::Counter*, kMethods> accepted_{};
  std::array<telemetry::Counter*, kMethods> refused_{};
  telemetry::Counter& broken_authorities_;
  base::Mutex mutex_;
  std::shared_ptr<const Trust> trust_ GUARDED_BY(mutex_);
};

}  // namespace activescale::metricsapi
