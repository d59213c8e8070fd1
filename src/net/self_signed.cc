#include "net/self_signed.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <array>
#include <ctime>

#include "net/openssl_util.h"

namespace activescale::net {

namespace {

using ExtensionOwner = std::unique_ptr<X509_EXTENSION, OpenSslDelete<X509_EXTENSION_free>>;

base::Error Failed(std::string_view what) {
  return {base::Code::kInternal,
          "cannot " + std::string(what) + " for a certificate: " + TakeOpenSslErrors()};
}

bool IsIpAddress(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET, name.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
}

std::string SubjectAlternativeNames(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ',';
    text += IsIpAddress(name) ? "IP:" : "DNS:";
    text += name;
  }
  return text;
}

bool AddExtension(X509* certificate, int nid, const std::string& value) {
  const ExtensionOwner extension(X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool SetSerial(X509* certificate) {
  std::array<unsigned char, 16> random{};
  if (RAND_bytes(random.data(), random.size()) != 1) return false;
  random[0] &= 0x7f;  // a serial number is positive
  const std::unique_ptr<BIGNUM, OpenSslDelete<BN_free>> number(
      BN_bin2bn(random.data(), random.size(), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

/// What a certificate says, but for its key and signature.
struct Profile {
  std::string common_name;
  std::string names;  // subject alternative names, in OpenSSL's form; empty for an authority
  std::string basic_constraints = "critical,CA:FALSE";
  std::string key_usage = "critical,digitalSignature";
};

Profile ServingProfile(const std::vector<std::string>& names) {
  return {.common_name = names.front(), .names = SubjectAlternativeNames(names)};
}

bool AddCommonName(X509_NAME* subject, const std::string& name) {
  const std::string text = name.substr(0, 64);  // RFC 5280: ub-common-name
  return X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

bool Describe(X509* certificate, const Profile& profile, base::WallTime now,
              std::chrono::hours lifetime) {
  const std::time_t start = std::chrono::system_clock::to_time_t(now - std::chrono::hours(1));
  const std::time_t end = std::chrono::system_clock::to_time_t(now + lifetime);
  const bool described =
      X509_set_version(certificate, X509_VERSION_3) == 1 && SetSerial(certificate) &&
      ASN1_TIME_set(X509_getm_notBefore(certificate), start) != nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(certificate), end) != nullptr &&
      AddCommonName(X509_get_subject_name(certificate), profile.common_name) &&
      AddExtension(certificate, NID_basic_constraints, profile.basic_constraints) &&
      AddExtension(certificate, NID_key_usage, profile.key_usage);
  if (!described || profile.names.empty()) return described;
  return AddExtension(certificate, NID_ext_key_usage, "serverAuth") &&
         AddExtension(certificate, NID_subject_alt_name, profile.names);
}

std::string KeyPem(EVP_PKEY* key) {
  const BioOwner bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

/// A certificate that `issuer` signed with `issuer_key`; both null: signed by itself.
base::Result<TlsPair> Make(const Profile& profile, base::WallTime now, std::chrono::hours lifetime,
                           const X509* issuer, EVP_PKEY* issuer_key) {
  ERR_clear_error();
  const KeyOwner key(EVP_EC_gen("P-256"));
  if (!key) return std::unexpected(Failed("make a key"));
  const CertificateOwner certificate(X509_new());
  if (!certificate || !Describe(certificate.get(), profile, now, lifetime) ||
      X509_set_pubkey(certificate.get(), key.get()) != 1 ||
      X509_set_issuer_name(certificate.get(),
                           X509_get_subject_name(issuer != nullptr ? issuer : certificate.get())) !=
          1) {
    return std::unexpected(Failed("fill in the names"));
  }
  if (X509_sign(certificate.get(), issuer_key != nullptr ? issuer_key : key.get(), EVP_sha256()) ==
      0) {
    return std::unexpected(Failed("sign"));
  }
  return TlsPair{ToPem(*certificate), KeyPem(key.get())};
}

}  // namespace

base::Result<TlsPair> MakeSelfSigned(const std::vector<std::string>& names, base::WallTime now,
                                     std::chrono::hours lifetime) {
  if (names.empty()) {
    return base::Fail(base::Code::kInvalidArgument, "a certificate needs at least one name");
  }
  return Make(ServingProfile(names), now, lifetime, nullptr, nullptr);
}

base::Result<TlsPair> MakeAuthority(const std::string& common_name, base::WallTime now,
                                    std::chrono::hours lifetime) {
  return Make({.common_name = common_name,
               .basic_constraints = "critical,CA:TRUE",
               .key_usage = "critical,keyCertSign,cRLSign"},
              now, lifetime, nullptr, nullptr);
}

base::Result<TlsPair> MakeSigned(const TlsPair& authority, const std::vector<std::string>& names,
                                 base::WallTime now, std::chrono::hours lifetime) {
  if (names.empty()) {
    return base::Fail(base::Code::kInvalidArgument, "a certificate needs at least one name");
  }
  const auto chain = ParseCertificates(authority.certificate_pem);
  if (!chain) return std::unexpected(chain.error());
  const auto key = ParsePrivateKey(authority.private_key_pem);
  if (!key) return std::unexpected(key.error());
  return Make(ServingProfile(names), now, lifetime, chain->front().get(), key->get());
}

std::vector<std::string> LocalNames() {
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1"};
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0') {
    names.emplace_back(host.data());
  }
  return names;
}

}  // namespace activescale::net
