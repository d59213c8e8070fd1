#include "net/testing/test_authority.h"

#include <openssl/x509v3.h>

#include "net/openssl_util.h"
#include "net/self_signed.h"

namespace activescale::net {

namespace {

using std::chrono::hours;

void Require(bool ok) {
  if (!ok) std::abort();
}

void AddEntry(X509_NAME* name, const char* key, const std::string& value) {
  Require(X509_NAME_add_entry_by_txt(name, key, MBSTRING_UTF8,
                                     reinterpret_cast<const unsigned char*>(value.c_str()), -1, -1,
                                     0) == 1);
}

void AddExtension(X509* certificate, int nid, const char* value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
  Require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

std::string KeyPem(EVP_PKEY* key) {
  const BioOwner bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

TlsPair Sign(const TlsPair& authority, base::WallTime now, const TestAuthority::Client& client,
             bool is_authority) {
  const auto issuer = ParseCertificates(authority.certificate_pem);
  const auto issuer_key = ParsePrivateKey(authority.private_key_pem);
  Require(issuer.has_value() && issuer_key.has_value());
  const KeyOwner key(EVP_EC_gen("P-256"));
  const CertificateOwner certificate(X509_new());
  X509* x509 = certificate.get();
  static long serial = 1000;
  X509_set_version(x509, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), ++serial);
  ASN1_TIME_set(X509_getm_notBefore(x509),
                std::chrono::system_clock::to_time_t(now + client.valid_from));
  ASN1_TIME_set(X509_getm_notAfter(x509),
                std::chrono::system_clock::to_time_t(now + client.valid_until));
  X509_NAME* subject = X509_get_subject_name(x509);
  for (const std::string& organization : client.organizations) AddEntry(subject, "O", organization);
  if (!client.common_name.empty()) AddEntry(subject, "CN", client.common_name);
  X509_set_issuer_name(x509, X509_get_subject_name(issuer->front().get()));
  X509_set_pubkey(x509, key.get());
  AddExtension(x509, NID_basic_constraints, is_authority ? "critical,CA:TRUE" : "CA:FALSE");
  AddExtension(x509, NID_key_usage,
               is_authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature");
  if (!client.extended_key_usage.empty()) {
    AddExtension(x509, NID_ext_key_usage, client.extended_key_usage.c_str());
  }
  Require(X509_sign(x509, issuer_key->get(), EVP_sha256()) > 0);
  return {ToPem(*certificate), KeyPem(key.get())};
}

}  // namespace

TestAuthority::TestAuthority(const std::string& name, base::WallTime now)
    : pair_(*MakeAuthority(name, now, hours(24))), now_(now) {}

TlsPair TestAuthority::Issue(const Client& client) const {
  TlsPair pair = Sign(pair_, now_, client, false);
  if (intermediate_) pair.certificate_pem += pair_.certificate_pem;
  return pair;
}

TestAuthority TestAuthority::Intermediate(const std::string& name) const {
  return TestAuthority(
      Sign(pair_, now_, {.common_name = name, .organizations = {}, .extended_key_usage = ""}, true),
      now_, true);
}

}  // namespace activescale::net
