#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "kube/api_client.h"
#include "net/tls_context.h"
#include "telemetry/health.h"
#include "telemetry/registry.h"

namespace activescale::kube {

/// Makes the aggregator able to verify us without insecureSkipTLSVerify and without cert-manager:
/// keeps a CA of our own in a Secret, signs this replica's serving certificate with it, and writes
/// it as caBundle into our APIServices.
///
/// Several replicas share the CA: the Secret's resourceVersion decides which of them made it. A CA
/// that nears its end is followed by a new one, and the old one stays in the bundle while it is
/// valid, so that the certificates of other replicas verify until they have their new ones.
/// An APIService that points at another Service is left alone, with a warning.
/// Threads: Start, any; Health, any; the rest runs on the API client's loop. Destroy it only when
/// the HTTP client's Run has returned.
class ApiServiceCa {
 public:
  struct Options {
    std::string ns;                         // of the Secret and the Service
    std::string secret;                     // must exist; may be empty
    std::string service;                    // ours
    std::vector<std::string> api_services;  // names, e.g. "v1beta2.custom.metrics.k8s.io"
    std::chrono::nanoseconds interval = std::chrono::minutes(1);  // between two looks
    std::chrono::nanoseconds retry = std::chrono::seconds(2);     // after a failure, plus jitter
  };
  struct Context {
    ApiClient& api;
    telemetry::Registry& registry;
    const base::Clock& clock;
    std::function<double()> random;  // 0..1
    /// Takes each newly signed serving certificate; runs on the loop. An error is retried.
    std::function<base::Result<void>(const net::TlsPair&)> install;
  };

  ApiServiceCa(Options options, Context context);

  void Start();
  /// Ok once a certificate is installed and every APIService of ours has the bundle.
  [[nodiscard]] telemetry::CheckResult Health() const;

  static constexpr std::chrono::hours kAuthorityLifetime{24 * 365 * 10};
  static constexpr std::chrono::hours kServingLifetime{24 * 365};
  static constexpr std::chrono::hours kRenewBefore{24 * 60};

 private:
  void Look();
  void OnSecret(ApiResult<boost::json::object> secret);
  void MakeAuthorityIn(boost::json::object secret);
  void UseAuthority(const net::TlsPair& authority);
  void LookAtApiService(size_t index);
  void OnApiService(size_t index, const boost::json::object& api_service);
  void Again(std::chrono::nanoseconds delay);
  void Fail(const std::string& what, const ApiError& error);
  void Fail(const std::string& message);
  [[nodiscard]] std::string SecretPath() const;

  const Options options_;
  Context context_;
  telemetry::Counter& failures_;
  telemetry::Counter& patches_;

  // Of the loop's thread alone.
  std::string bundle_;                       // PEM, the newest authority first
  std::optional<base::WallTime> signed_at_;  // when the installed certificate was made
  std::string signed_by_;                    // the authority's certificate, PEM

  mutable base::Mutex mutex_;
  std::string fault_ GUARDED_BY(mutex_) = "not looked at yet";
};

}  // namespace activescale::kube
