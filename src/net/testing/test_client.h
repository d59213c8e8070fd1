#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_types.h"
#include "net/tls_context.h"

namespace activescale::net {

/// How a TestClient speaks TLS.
struct TestTls {
  TlsPair client;       // shown if the server asks; empty: none
  int max_version = 0;  // OpenSSL's TLS1_1_VERSION, ...; 0: no limit
  std::vector<std::string> alpn = {"http/1.1"};
};

/// A blocking HTTP client over a raw socket, for tests: it sends any bytes at any time. Each call
/// fails after ten seconds, so a test never hangs. The server's certificate is not verified.
class TestClient {
 public:
  /// Plain without `tls`. Null if the connection or the handshake failed.
  static std::unique_ptr<TestClient> Connect(uint16_t port, std::optional<TestTls> tls = {});
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  /// False if the server closed the connection.
  bool Send(std::string_view bytes);
  /// Sends a request with Host and the given header fields, and reads its answer.
  std::optional<HttpResponse> Fetch(std::string_view method, std::string_view target,
                                    const std::vector<Header>& headers = {},
                                    std::string_view body = {});
  /// Reads one response; nothing if the connection was closed before its end. Content-Type is
  /// both the field and in `headers`.
  std::optional<HttpResponse> ReadResponse(bool head = false);
  /// Reads up to and with `mark`, which must be further than what was read before; "" if the
  /// connection was closed first.
  std::string ReadUntil(std::string_view mark);
  /// Whether the server closes the connection (cleanly or not) before it sends another byte.
  bool WaitForClose();

  /// The server's leaf certificate as PEM, and what was negotiated.
  [[nodiscard]] std::string ServerCertificate() const;
  [[nodiscard]] std::string Alpn() const;
  [[nodiscard]] bool Resumed() const;

 private:
  struct Tls;
  explicit TestClient(int fd);
  bool Handshake(const TestTls& tls);
  /// Bytes read, 0 at the end, negative for an error.
  int ReadSome(char* data, size_t size);
  bool FillUntil(std::string_view mark);

  int fd_;
  std::unique_ptr<Tls> tls_;
  std::string buffer_;
};

}  // namespace activescale::net
