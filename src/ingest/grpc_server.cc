#include "ingest/grpc_server.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <climits>
#include <utility>

namespace activescale::ingest {
namespace {

// With bandwidth probes and their growing windows, a flood of 50 streams took 0.75-1.3 GiB; with
// these two settings 25-35 MiB. Measured with 7 KB and 145 KB messages of a real Envoy, gRPC 1.51.
constexpr int kBdpProbe = 0;
constexpr int kStreamLookaheadBytes = 65'536;

// Envoys may be configured to send their own pings; gRPC would close such a connection.
constexpr int kMinClientPingIntervalMs = 1'000;

int Milliseconds(std::chrono::nanoseconds duration) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return static_cast<int>(std::clamp<int64_t>(ms, 1, INT_MAX));
}

base::Result<std::shared_ptr<grpc::ServerCredentials>> Credentials(const TlsFiles& files,
                                                                   std::chrono::seconds refresh) {
  if (files.certificate.empty()) return grpc::InsecureServerCredentials();
  if (auto checked = CheckTlsFiles(files); !checked) return std::unexpected(checked.error());
  const auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.private_key, files.certificate, files.client_ca,
      static_cast<unsigned>(refresh.count()));
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  if (files.client_ca.empty()) {
    options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  } else {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(options);
}

void SetArguments(const GrpcServerOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, kBdpProbe);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kStreamLookaheadBytes);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_interval));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             Milliseconds(options.keepalive_timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinClientPingIntervalMs);
  // Without this, a second process could bind the same port and take half of the streams.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  if (options.max_connection_age.count() > 0) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                               Milliseconds(options.max_connection_age));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                               Milliseconds(options.connection_age_grace));
  }
  builder.SetResourceQuota(grpc::ResourceQuota("server").Resize(options.max_memory_bytes));
}

}  // namespace

GrpcServer::GrpcServer(std::unique_ptr<grpc::Server> server, uint16_t port)
    : server_(std::move(server)), port_(port) {}

base::Result<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcServerOptions& options,
                                                            grpc::Service& service) {
  const auto credentials = Credentials(options.tls, options.tls_refresh);
  if (!credentials) return std::unexpected(credentials.error());
  const bool is_ipv6 = options.bind_address.find(':') != std::string::npos;
  const std::string host =
      is_ipv6 ? fmt::format("[{}]", options.bind_address) : options.bind_address;
  const std::string address = fmt::format("{}:{}", host, options.port);
  grpc::ServerBuilder builder;
  SetArguments(options, builder);
  int bound_port = 0;
  builder.AddListeningPort(address, *credentials, &bound_port);
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || bound_port == 0) {
    return base::Fail(base::Code::kUnavailable,
                      fmt::format("cannot listen for gRPC on {}: is the port in use, and the "
                                  "address one of this machine?",
                                  address));
  }
  return std::unique_ptr<GrpcServer>(
      new GrpcServer(std::move(server), static_cast<uint16_t>(bound_port)));
}

GrpcServer::~GrpcServer() { Shutdown(std::chrono::nanoseconds(0)); }

void GrpcServer::Shutdown(std::chrono::nanoseconds grace) {
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::duration_cast<std::chrono::system_clock::duration>(grace));
  server_->Wait();
}

}  // namespace activescale::ingest
