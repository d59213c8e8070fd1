#include "net/openssl_util.h"

#include <openssl/err.h>

#include <array>
#include <ctime>

namespace activescale::net {

namespace {

/// Answers a pass-phrase question with "none", so that an encrypted key is an error and not a
/// prompt on the terminal.
int NoPassphrase(char*, int, int, void*) { return 0; }

std::string BioText(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

base::Result<base::WallTime> ReadTime(const ASN1_TIME* time) {
  std::tm calendar{};
  if (ASN1_TIME_to_tm(time, &calendar) != 1) {
    return base::Fail(base::Code::kInvalidArgument, "a certificate's validity is unreadable");
  }
  return std::chrono::system_clock::from_time_t(timegm(&calendar));
}

}  // namespace

std::string TakeOpenSslErrors() {
  std::string text;
  while (const unsigned long code = ERR_get_error()) {
    std::array<char, 256> line{};
    ERR_error_string_n(code, line.data(), line.size());
    if (!text.empty()) text += "; ";
    text += line.data();
  }
  return text.empty() ? "no detail from OpenSSL" : text;
}

BioOwner ReadOnlyBio(std::string_view text) {
  return BioOwner(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

base::Result<std::vector<CertificateOwner>> ParseCertificates(std::string_view pem) {
  ERR_clear_error();
  const BioOwner bio = ReadOnlyBio(pem);
  std::vector<CertificateOwner> certificates;
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)) {
    certificates.emplace_back(certificate);
  }
  const unsigned long last = ERR_peek_last_error();
  const bool at_end =
      ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  if (!at_end) {
    return base::Fail(base::Code::kInvalidArgument,
                      "cannot parse the PEM certificate: " + TakeOpenSslErrors());
  }
  ERR_clear_error();
  if (certificates.empty()) {
    return base::Fail(base::Code::kInvalidArgument,
                      "no PEM block -----BEGIN CERTIFICATE----- found");
  }
  return certificates;
}

base::Result<KeyOwner> ParsePrivateKey(std::string_view pem) {
  ERR_clear_error();
  const BioOwner bio = ReadOnlyBio(pem);
  KeyOwner key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  if (!key) {
    return base::Fail(
        base::Code::kInvalidArgument,
        "cannot parse the PEM private key (it must not be encrypted): " + TakeOpenSslErrors());
  }
  return key;
}

base::Result<base::WallTime> NotBefore(const X509& certificate) {
  return ReadTime(X509_get0_notBefore(&certificate));
}

base::Result<base::WallTime> NotAfter(const X509& certificate) {
  return ReadTime(X509_get0_notAfter(&certificate));
}

std::string ToPem(const X509& certificate) {
  const BioOwner bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), &certificate);
  return BioText(bio.get());
}

std::shared_ptr<const PeerCertificate> ReadPeerCertificate(SSL* ssl) {
  const CertificateOwner leaf(SSL_get1_peer_certificate(ssl));
  auto peer = std::make_shared<PeerCertificate>();
  if (!leaf) return peer;
  peer->chain_pem = ToPem(*leaf);
  const STACK_OF(X509)* others = SSL_get_peer_cert_chain(ssl);  // a server's view has no leaf
  for (int i = 0; i < sk_X509_num(others); ++i) peer->chain_pem += ToPem(*sk_X509_value(others, i));
  return peer;
}

}  // namespace activescale::net
