#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "net/http_types.h"

/// OpenSSL's objects with owners. Only .cc files of this module include this.
namespace activescale::net {

template <auto kFree>
struct OpenSslDelete {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using BioOwner = std::unique_ptr<BIO, OpenSslDelete<BIO_free_all>>;
using KeyOwner = std::unique_ptr<EVP_PKEY, OpenSslDelete<EVP_PKEY_free>>;
using CertificateOwner = std::unique_ptr<X509, OpenSslDelete<X509_free>>;

/// Empties OpenSSL's error queue of this thread into one line, for the end of a message.
[[nodiscard]] std::string TakeOpenSslErrors();

/// A read-only view of `text`, which must outlive it.
[[nodiscard]] BioOwner ReadOnlyBio(std::string_view text);

/// Every certificate of a PEM text, in order; other blocks are skipped.
/// Errors: kInvalidArgument if one does not parse or there is none.
[[nodiscard]] base::Result<std::vector<CertificateOwner>> ParseCertificates(std::string_view pem);

/// An unencrypted private key. Errors: kInvalidArgument. The message never holds key material.
[[nodiscard]] base::Result<KeyOwner> ParsePrivateKey(std::string_view pem);

[[nodiscard]] base::Result<base::WallTime> NotBefore(const X509& certificate);
[[nodiscard]] base::Result<base::WallTime> NotAfter(const X509& certificate);

[[nodiscard]] std::string ToPem(const X509& certificate);

/// The client's chain; empty if it sent none. The handshake must be over.
[[nodiscard]] std::shared_ptr<const PeerCertificate> ReadPeerCertificate(SSL* ssl);

}  // namespace activescale::net
