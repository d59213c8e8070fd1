#include "net/testing/test_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "net/openssl_util.h"

namespace activescale::net {

namespace {

constexpr timeval kTimeout{10, 0};

std::string WireAlpn(const std::vector<std::string>& names) {
  std::string wire;
  for (const std::string& name : names) wire += static_cast<char>(name.size()) + name;
  return wire;
}

}  // namespace

struct TestClient::Tls {
  std::unique_ptr<SSL_CTX, OpenSslDelete<SSL_CTX_free>> context{SSL_CTX_new(TLS_client_method())};
  std::unique_ptr<SSL, OpenSslDelete<SSL_free>> ssl;
};

TestClient::TestClient(int fd) : fd_(fd) {}

TestClient::~TestClient() {
  tls_.reset();
  close(fd_);
}

std::unique_ptr<TestClient> TestClient::Connect(uint16_t port, std::optional<TestTls> tls) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::unique_ptr<TestClient> client(new TestClient(fd));
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof(kTimeout));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kTimeout, sizeof(kTimeout));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return nullptr;
  if (tls && !client->Handshake(*tls)) return nullptr;
  return client;
}

bool TestClient::Handshake(const TestTls& tls) {
  tls_ = std::make_unique<Tls>();
  SSL_CTX* context = tls_->context.get();
  SSL_CTX_set_security_level(context, 0);  // so that old versions can be offered and refused
  if (tls.max_version != 0) {
    SSL_CTX_set_max_proto_version(context, tls.max_version);
    SSL_CTX_set_min_proto_version(context, tls.max_version);
  }
  if (!tls.client.certificate_pem.empty()) {
    auto chain = ParseCertificates(tls.client.certificate_pem);
    auto key = ParsePrivateKey(tls.client.private_key_pem);
    if (!chain || !key) return false;
    SSL_CTX_use_certificate(context, chain->front().get());
    for (size_t i = 1; i < chain->size(); ++i) {
      SSL_CTX_add1_chain_cert(context, (*chain)[i].get());
    }
    if (SSL_CTX_use_PrivateKey(context, key->get()) != 1) return false;
  }
  const std::string alpn = WireAlpn(tls.alpn);
  SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(alpn.data()),
                          static_cast<unsigned int>(alpn.size()));
  tls_->ssl.reset(SSL_new(context));
  SSL_set_fd(tls_->ssl.get(), fd_);
  return SSL_connect(tls_->ssl.get()) == 1;
}

bool TestClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = tls_ ? SSL_write(tls_->ssl.get(), bytes.data(),
                                          static_cast<int>(std::min<size_t>(bytes.size(), 1 << 20)))
                              : send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

int TestClient::ReadSome(char* data, size_t size) {
  if (tls_) return SSL_read(tls_->ssl.get(), data, static_cast<int>(size));
  return static_cast<int>(recv(fd_, data, size, 0));
}

bool TestClient::FillUntil(std::string_view mark) {
  std::array<char, 16 * 1024> chunk;
  while (buffer_.find(mark) == std::string::npos) {
    const int size = ReadSome(chunk.data(), chunk.size());
    if (size <= 0) return false;
    buffer_.append(chunk.data(), static_cast<size_t>(size));
  }
  return true;
}

std::string TestClient::ReadUntil(std::string_view mark) {
  if (!FillUntil(mark)) return "";
  const size_t size = buffer_.find(mark) + mark.size();
  std::string text = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return text;
}

std::optional<HttpResponse> TestClient::ReadResponse(bool head) {
  if (!FillUntil("\r\n\r\n")) return std::nullopt;
  HttpResponse response;
  size_t length = 0;
  const size_t head_end = buffer_.find("\r\n\r\n");
  response.status = std::atoi(buffer_.c_str() + buffer_.find(' '));
  size_t line = buffer_.find("\r\n") + 2;
  while (line < head_end + 2) {
    const size_t end = buffer_.find("\r\n", line);
    const size_t colon = buffer_.find(": ", line);
    const std::string name = buffer_.substr(line, colon - line);
    const std::string value = buffer_.substr(colon + 2, end - colon - 2);
    if (name == "Content-Type") response.content_type = value;
    if (name == "Content-Length") length = static_cast<size_t>(std::atoll(value.c_str()));
    response.headers.emplace_back(name, value);
    line = end + 2;
  }
  buffer_.erase(0, head_end + 4);
  if (head) return response;
  std::array<char, 16 * 1024> chunk;
  while (buffer_.size() < length) {
    const int size = ReadSome(chunk.data(), chunk.size());
    if (size <= 0) return std::nullopt;
    buffer_.append(chunk.data(), static_cast<size_t>(size));
  }
  response.body = buffer_.substr(0, length);
  buffer_.erase(0, length);
  return response;
}

std::optional<HttpResponse> TestClient::Fetch(std::string_view method, std::string_view target,
                                              const std::vector<Header>& headers,
                                              std::string_view body) {
  std::string request;
  request.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n");
  for (const auto& [name, value] : headers)
    request.append(name).append(": ").append(value).append("\r\n");
  if (!body.empty()) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  request.append("\r\n").append(body);
  if (!Send(request)) return std::nullopt;
  return ReadResponse(method == "HEAD");
}

bool TestClient::WaitForClose() {
  if (!buffer_.empty()) return false;
  char byte = 0;
  const int size = ReadSome(&byte, 1);
  if (size > 0) return false;
  return errno != EAGAIN && errno != EWOULDBLOCK;
}

std::string TestClient::ServerCertificate() const {
  const CertificateOwner certificate(SSL_get1_peer_certificate(tls_->ssl.get()));
  return certificate ? ToPem(*certificate) : "";
}

std::string TestClient::Alpn() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(tls_->ssl.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

bool TestClient::Resumed() const { return SSL_session_reused(tls_->ssl.get()) == 1; }

}  // namespace activescale::net
