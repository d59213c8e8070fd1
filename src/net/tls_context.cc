#include "net/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string_view>

#include "net/openssl_util.h"

namespace activescale::net {

namespace {

/// In ALPN's wire form: a length byte before each name.
constexpr std::string_view kAlpn = "\x08http/1.1";

/// Takes http/1.1 if it was offered. A client that offers only others goes on without ALPN, as
/// Go's servers let it: it then speaks HTTP/1.1 or fails with a clear error of its own.
int SelectAlpn(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
               unsigned int in_size, void*) {
  unsigned char* selected = nullptr;
  const int result = SSL_select_next_proto(&selected, out_size,
                                           reinterpret_cast<const unsigned char*>(kAlpn.data()),
                                           kAlpn.size(), in, in_size);
  if (result != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = selected;
  return SSL_TLSEXT_ERR_OK;
}

/// Lets any client certificate pass the handshake; it is judged with the request.
int AcceptAnyCertificate(X509_STORE_CTX*, void*) { return 1; }

base::Error Unusable(std::string_view what) {
  return {base::Code::kInvalidArgument, std::string(what) + ": " + TakeOpenSslErrors()};
}

void Configure(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);  // an idle connection holds no 34 KiB
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, AcceptAnyCertificate, nullptr);
  SSL_CTX_set_alpn_select_cb(context, SelectAlpn, nullptr);
}

}  // namespace

void TlsContext::FreeContext::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

base::Result<std::shared_ptr<const TlsContext>> TlsContext::ForServer(const TlsPair& pair) {
  auto chain = ParseCertificates(pair.certificate_pem);
  if (!chain) return std::unexpected(chain.error());
  auto key = ParsePrivateKey(pair.private_key_pem);
  if (!key) return std::unexpected(key.error());
  auto not_after = NotAfter(*chain->front());
  if (!not_after) return std::unexpected(not_after.error());

  ERR_clear_error();
  std::unique_ptr<ssl_ctx_st, FreeContext> context(SSL_CTX_new(TLS_server_method()));
  if (!context) return std::unexpected(Unusable("cannot make a TLS context"));
  Configure(context.get());
  if (SSL_CTX_use_certificate(context.get(), chain->front().get()) != 1) {
    return std::unexpected(Unusable("OpenSSL refuses the certificate"));
  }
  for (size_t i = 1; i < chain->size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context.get(), (*chain)[i].get()) != 1) {
      return std::unexpected(Unusable("OpenSSL refuses the certificate chain"));
    }
  }
  if (SSL_CTX_use_PrivateKey(context.get(), key->get()) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return std::unexpected(Unusable("the private key is not the certificate's"));
  }
  return std::shared_ptr<const TlsContext>(new TlsContext(std::move(context), *not_after));
}

}  // namespace activescale::net
