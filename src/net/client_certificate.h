#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"

struct x509_st;            // OpenSSL's X509,
struct x509_store_st;      // X509_STORE and
struct x509_store_ctx_st;  // X509_STORE_CTX

namespace activescale::net {

/// Whom a certificate names.
struct CertificateSubject {
  std::string common_name;
  std::vector<std::string> organizations;
};

/// Judges client certificates by one set of authorities, as Go's x509 does for Kubernetes: any
/// certificate of the set is an anchor, and an extended key usage must allow client
/// authentication. Threads: any.
class ClientCertificateVerifier {
 public:
  /// Errors: kInvalidArgument if the PEM does not parse or has no certificate.
  static base::Result<std::unique_ptr<ClientCertificateVerifier>> FromPem(
      std::string_view authorities_pem);

  /// The subject of the leaf. `chain_pem` has the leaf first, then intermediates in any order.
  /// Errors: kUnauthenticated, with the reason.
  /// Cost: about 0.1 ms for a new chain; one that was good is remembered, by its exact bytes and
  /// for as long as all of its certificates are valid, since a connection shows the same chain
  /// with every request.
  base::Result<CertificateSubject> Verify(const std::string& chain_pem, base::WallTime now);

 private:
  struct FreeStore {
    void operator()(x509_store_st* store) const;
  };
  struct Known {
    CertificateSubject subject;
    base::WallTime not_before;
    base::WallTime not_after;
  };
  /// Few peers show certificates: the aggregator's replicas and a handful of people.
  static constexpr size_t kMaxKnown = 256;

  using StoreOwner = std::unique_ptr<x509_store_st, FreeStore>;

  explicit ClientCertificateVerifier(std::vector<StoreOwner> anchors)
      : anchors_(std::move(anchors)) {}
  /// What is worth knowing of a leaf whose chain was found good.
  static base::Result<Known> Remember(const x509_st& leaf, x509_store_ctx_st* context);
  [[nodiscard]] base::Result<Known> Judge(const std::string& chain_pem, base::WallTime now) const;

  /// One store for each authority: in a common one OpenSSL tries only the first of two with the
  /// same name and no key identifiers, which is what a rotation makes.
  std::vector<StoreOwner> anchors_;
  base::Mutex mutex_;
  std::unordered_map<std::string, Known> known_ GUARDED_BY(mutex_);
};

}  // namespace activescale::net
