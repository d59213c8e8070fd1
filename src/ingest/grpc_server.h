#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "ingest/tls_files.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace activescale::ingest {

struct GrpcServerOptions {
  std::string bind_address = "127.0.0.1";
  uint16_t port = 9000;  // 0: any free one
  TlsFiles tls;
  std::chrono::seconds tls_refresh{10};  // how often the files are looked at
  /// Of one message; -1: the service looks at that itself.
  int max_message_bytes = -1;
  /// Memory of gRPC's buffers; at the limit, the connections that hold most are closed.
  size_t max_memory_bytes = size_t{256} << 20;
  /// Age at which a connection is asked to move, by up to a tenth more or less, so that streams
  /// spread over new replicas; 0: never. After `connection_age_grace` it is closed.
  std::chrono::nanoseconds max_connection_age{0};
  std::chrono::nanoseconds connection_age_grace = std::chrono::seconds(10);
  /// Silence after which a connection is asked for a sign of life, and how long it has for that.
  std::chrono::nanoseconds keepalive_interval = std::chrono::seconds(30);
  std::chrono::nanoseconds keepalive_timeout = std::chrono::seconds(10);
};

/// A gRPC server. To a service that receives much, message sizes and gzip are left: gRPC 1.51
/// buffers and inflates a whole message before it looks at its limit, so such a service sees
/// compressed bytes as they came.
class GrpcServer {
 public:
  /// Errors: kUnavailable if the address cannot be bound, kInvalidArgument if a TLS file cannot be
  /// read or certificate and key do not match.
  [[nodiscard]] static base::Result<std::unique_ptr<GrpcServer>> Start(
      const GrpcServerOptions& options, grpc::Service& service);

  /// Shuts down at once if Shutdown was not called.
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  [[nodiscard]] uint16_t port() const { return port_; }

  /// Stops listening, lets streams end for `grace`, cancels the rest and waits for the end of all
  /// calls into the service.
  void Shutdown(std::chrono::nanoseconds grace);

 private:
  GrpcServer(std::unique_ptr<grpc::Server> server, uint16_t port);

  std::unique_ptr<grpc::Server> server_;
  const uint16_t port_;
};

}  // namespace activescale::ingest
