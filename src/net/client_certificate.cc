#include "net/client_certificate.h"

#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "net/openssl_util.h"

namespace activescale::net {

namespace {

using StoreContextOwner = std::unique_ptr<X509_STORE_CTX, OpenSslDelete<X509_STORE_CTX_free>>;

/// Frees the stack, not the certificates in it.
void FreeStack(STACK_OF(X509) * stack) { sk_X509_free(stack); }
using StackOwner = std::unique_ptr<STACK_OF(X509), OpenSslDelete<FreeStack>>;

std::string EntryText(const X509_NAME_ENTRY* entry) {
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
  if (size < 0) return {};
  std::string value(reinterpret_cast<const char*>(text), static_cast<size_t>(size));
  OPENSSL_free(text);
  return value;
}

CertificateSubject ReadSubject(const X509& certificate) {
  CertificateSubject subject;
  const X509_NAME* name = X509_get_subject_name(&certificate);
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    const int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    if (nid == NID_commonName) subject.common_name = EntryText(entry);
    if (nid == NID_organizationName) subject.organizations.push_back(EntryText(entry));
  }
  return subject;
}

std::unexpected<base::Error> Refused(std::string reason) {
  return base::Fail(base::Code::kUnauthenticated,
                    "the client certificate is refused: " + std::move(reason));
}

bool VerifyAt(X509_STORE_CTX* context, base::WallTime now) {
  X509_VERIFY_PARAM* parameters = X509_STORE_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_CLIENT);
  X509_VERIFY_PARAM_set_time(parameters, std::chrono::system_clock::to_time_t(now));
  return X509_verify_cert(context) == 1;
}

}  // namespace

void ClientCertificateVerifier::FreeStore::operator()(x509_store_st* store) const {
  X509_STORE_free(store);
}

base::Result<std::unique_ptr<ClientCertificateVerifier>> ClientCertificateVerifier::FromPem(
    std::string_view authorities_pem) {
  auto authorities = ParseCertificates(authorities_pem);
  if (!authorities) return std::unexpected(authorities.error());
  std::vector<StoreOwner> anchors;
  for (const CertificateOwner& authority : *authorities) {
    anchors.emplace_back(X509_STORE_new());
    X509_STORE_add_cert(anchors.back().get(), authority.get());
  }
  return std::unique_ptr<ClientCertificateVerifier>(
      new ClientCertificateVerifier(std::move(anchors)));
}

base::Result<CertificateSubject> ClientCertificateVerifier::Verify(const std::string& chain_pem,
                                                                   base::WallTime now) {
  {
    base::MutexLock lock(mutex_);
    const auto found = known_.find(chain_pem);
    if (found != known_.end()) {
      if (now >= found->second.not_before && now <= found->second.not_after) {
        return found->second.subject;
      }
      known_.erase(found);
    }
  }
  auto judged = Judge(chain_pem, now);
  if (!judged) return std::unexpected(judged.error());
  CertificateSubject subject = judged->subject;
  base::MutexLock lock(mutex_);
  if (known_.size() >= kMaxKnown) known_.clear();
  known_.insert_or_assign(chain_pem, *std::move(judged));
  return subject;
}

base::Result<ClientCertificateVerifier::Known> ClientCertificateVerifier::Judge(
    const std::string& chain_pem, base::WallTime now) const {
  const auto chain = ParseCertificates(chain_pem);
  if (!chain) return Refused(chain.error().message);
  const StackOwner others(sk_X509_new_null());
  for (size_t i = 1; i < chain->size(); ++i) sk_X509_push(others.get(), (*chain)[i].get());

  int fault = X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY;
  for (const StoreOwner& anchor : anchors_) {
    const StoreContextOwner context(X509_STORE_CTX_new());
    if (X509_STORE_CTX_init(context.get(), anchor.get(), chain->front().get(), others.get()) != 1) {
      return Refused(TakeOpenSslErrors());
    }
    if (VerifyAt(context.get(), now)) return Remember(*chain->front(), context.get());
    const int found = X509_STORE_CTX_get_error(context.get());
    // Another authority did not sign it at all; what the right one says counts.
    if (found != X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY) fault = found;
  }
  return Refused(X509_verify_cert_error_string(fault));
}

base::Result<ClientCertificateVerifier::Known> ClientCertificateVerifier::Remember(
    const x509_st& leaf, x509_store_ctx_st* context) {
  Known known{ReadSubject(leaf), base::WallTime::min(), base::WallTime::max()};
  const STACK_OF(X509)* verified = X509_STORE_CTX_get0_chain(context);
  for (int i = 0; i < sk_X509_num(verified); ++i) {
    const auto from = NotBefore(*sk_X509_value(verified, i));
    const auto until = NotAfter(*sk_X509_value(verified, i));
    if (!from || !until) return Refused("a certificate's validity is unreadable");
    known.not_before = std::max(known.not_before, *from);
    known.not_after = std::min(known.not_after, *until);
  }
  return known;
}

}  // namespace activescale::net
