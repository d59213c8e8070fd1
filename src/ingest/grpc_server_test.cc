#include "ingest/grpc_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ingest/metrics_service.h"
#include "ingest/testing/envoy_message.h"
#include "ingest/testing/raw_client.h"
#include "net/self_signed.h"
#include "store/embedded_store.h"

namespace activescale::ingest {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr char kInbound[] = "http.inbound_0.0.0.0_8080;.downstream_rq_active";
constexpr size_t kMiB = size_t{1} << 20;

/// Waits for what gRPC's threads do.
bool Eventually(const std::function<bool()>& condition, milliseconds patience = seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return true;
}

size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t total_pages = 0;
  size_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

/// A server on a free port, and clients of it, in one process.
class GrpcServerTest : public testing::Test {
 protected:
  void Start(GrpcServerOptions options = {}, MetricsServiceOptions service_options = {}) {
    service_ = std::make_unique<MetricsService>(service_options, ingest_);
    options.port = 0;
    auto server = GrpcServer::Start(options, *service_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }

  /// Each has a connection of its own.
  std::shared_ptr<grpc::Channel> Connect(
      std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials()) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetSslTargetNameOverride("localhost");
    return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(server_->port()), credentials,
                                     arguments);
  }

  std::string Inbound(const std::string& pod) {
    std::string text;
    store_.Read({{"shop", pod}}, metric::MetricKind::kInboundActiveRequests,
                [&](const base::Result<store::ReadResult>& result) {
                  const store::PodReading& reading = result->readings[0];
                  text = reading.state == store::PodReading::State::kMissing
                             ? "missing"
                             : reading.value.ToString();
                });
    return text;
  }
  bool EventuallyInbound(const std::string& pod, const std::string& value) {
    return Eventually([&] { return Inbound(pod) == value; });
  }

  base::SystemClock clock_;
  telemetry::Registry registry_;
  store::EmbeddedStore store_{{.ttl = seconds(60)}, clock_, registry_};
  kube::EnvoyPodIndex pods_{seconds(180), clock_};
  Ingest ingest_{{}, store_, &pods_, clock_, registry_};
  IngestMetrics& metrics_ = ingest_.metrics();
  std::unique_ptr<MetricsService> service_;
  std::unique_ptr<GrpcServer> server_;
};

std::string Push(const std::string& pod, double value) {
  return EnvoyMessage("shop", pod).Gauge(kInbound, value).Bytes();
}

TEST_F(GrpcServerTest, PushedValueIsInTheStore) {
  Start();
  RawStream stream(Connect());
  ASSERT_TRUE(stream.Write(Push("web-0", 3)));
  EXPECT_TRUE(EventuallyInbound("web-0", "3"));
  EXPECT_EQ(metrics_.bytes.Value(), Push("web-0", 3).size());
  ASSERT_TRUE(stream.Write(EnvoyMessage().Gauge(kInbound, 4).Bytes()));
  EXPECT_TRUE(EventuallyInbound("web-0", "4"));
  stream.CloseWrites();
  EXPECT_TRUE(stream.Finish().ok());
}

TEST_F(GrpcServerTest, GeneratedStubOfTheServiceCanPush) {
  Start();
  const auto stub = envoy::service::metrics::v3::MetricsService::NewStub(Connect());
  grpc::ClientContext context;
  envoy::service::metrics::v3::StreamMetricsResponse response;
  const auto writer = stub->StreamMetrics(&context, &response);
  ASSERT_TRUE(writer->Write(EnvoyMessage("shop", "web-0").At(1).Gauge(kInbound, 3).proto()));
  writer->WritesDone();
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_EQ(Inbound("web-0"), "3");
}

TEST_F(GrpcServerTest, StreamWithoutPodEndsWithInvalidArgument) {
  Start();
  RawStream stream(Connect());
  ASSERT_TRUE(stream.Write(EnvoyMessage().Gauge(kInbound, 3).Bytes()));
  stream.CloseWrites();
  const grpc::Status status = stream.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("no node"));
  EXPECT_EQ(metrics_.DroppedByIds(), 1);
}

TEST_F(GrpcServerTest, MalformedMessageEndsOnlyItsOwnStream) {
  Start();
  const auto channel = Connect();
  RawStream good(channel);
  ASSERT_TRUE(good.Write(Push("web-0", 3)));
  RawStream bad(channel);
  bad.Write("\x0F garbage");
  EXPECT_EQ(bad.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(metrics_.ended_malformed.Value(), 1);
  ASSERT_TRUE(good.Write(EnvoyMessage().Gauge(kInbound, 4).Bytes()));
  EXPECT_TRUE(EventuallyInbound("web-0", "4"));
}

// Case A1.
TEST_F(GrpcServerTest, MessageOfFiveMebibytesIsTakenAndOneOverTheLimitIsRefused) {
  Start();
  const auto channel = Connect();
  RawStream large(channel);
  EnvoyMessage message("shop", "web-0");
  message.Gauge(std::string(5 * kMiB, 'x'), 1).Gauge(kInbound, 9);
  ASSERT_TRUE(large.Write(message.Bytes()));
  EXPECT_TRUE(EventuallyInbound("web-0", "9"));

  const size_t before = ResidentBytes();
  RawStream too_large(channel);
  ASSERT_TRUE(too_large.Write(Push("web-1", 1)));
  EXPECT_TRUE(EventuallyInbound("web-1", "1"));
  too_large.Write(std::string(40 * kMiB, '\x12'));
  const grpc::Status status = too_large.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("41943040"));
  EXPECT_EQ(metrics_.ended_too_large.Value(), 1);
  RecordProperty("kept_bytes", std::to_string(ResidentBytes() - before));

  RawStream again(channel);
  ASSERT_TRUE(again.Write(Push("web-1", 2)));
  EXPECT_TRUE(EventuallyInbound("web-1", "2"));
}

TEST_F(GrpcServerTest, CompressedMessageIsTaken) {
  Start();
  RawStream stream(Connect(), GRPC_COMPRESS_GZIP);
  EnvoyMessage message("shop", "web-0");
  for (int i = 0; i < 1000; ++i) message.Gauge("cluster.a.upstream_cx_active", 1);
  ASSERT_TRUE(stream.Write(message.Gauge(kInbound, 3).Bytes()));
  EXPECT_TRUE(EventuallyInbound("web-0", "3"));
}

TEST_F(GrpcServerTest, CompressedBombIsRefusedWithoutTakingItsMemory) {
  Start();
  const auto channel = Connect();
  std::string bomb(200 * kMiB, '\0');
  RawStream stream(channel, GRPC_COMPRESS_GZIP);
  stream.Write(bomb);
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(metrics_.ended_too_large.Value(), 1);
  RawStream other(channel);
  ASSERT_TRUE(other.Write(Push("web-0", 1)));
  EXPECT_TRUE(EventuallyInbound("web-0", "1"));
}

TEST_F(GrpcServerTest, DeflateIsUnimplemented) {
  Start();
  RawStream stream(Connect(), GRPC_COMPRESS_DEFLATE);
  stream.Write(std::string(10'000, 'a'));
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(GrpcServerTest, StreamsAboveTheLimitAreRefusedAndTakenWhenThereIsRoom) {
  Start({}, {.max_streams = 1});
  const auto channel = Connect();
  auto first = std::make_unique<RawStream>(channel);
  ASSERT_TRUE(first->Write(Push("web-0", 1)));
  EXPECT_TRUE(EventuallyInbound("web-0", "1"));
  {
    RawStream second(channel);
    EXPECT_EQ(second.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_EQ(metrics_.ended_too_many.Value(), 1);
  first.reset();
  EXPECT_TRUE(Eventually([&] {
    RawStream third(channel);
    third.Write(Push("web-1", 7));
    return Eventually([&] { return Inbound("web-1") == "7"; }, milliseconds(100));
  }));
}

TEST_F(GrpcServerTest, CancelledStreamIsFinished) {
  Start();
  RawStream stream(Connect());
  ASSERT_TRUE(stream.Write(Push("web-0", 1)));
  EXPECT_TRUE(EventuallyInbound("web-0", "1"));
  stream.Cancel();
  EXPECT_TRUE(Eventually([&] { return metrics_.open_streams.Value() == 0; }));
}

TEST_F(GrpcServerTest, DrainedStreamEndsAfterItsNextMessageIsStored) {
  Start();
  const auto channel = Connect();
  RawStream stream(channel);
  ASSERT_TRUE(stream.Write(Push("web-0", 1)));
  EXPECT_TRUE(EventuallyInbound("web-0", "1"));
  service_->Drain();
  stream.Write(EnvoyMessage().Gauge(kInbound, 2).Bytes());  // without a time: a whole flush
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Inbound("web-0"), "2");
  RawStream late(channel);
  EXPECT_EQ(late.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GrpcServerTest, DrainedStreamPublishesNoPartOfAFlush) {
  Start();
  RawStream stream(Connect());
  ASSERT_TRUE(stream.Write(Push("web-0", 5)));
  EXPECT_TRUE(EventuallyInbound("web-0", "5"));
  service_->Drain();
  stream.Write(EnvoyMessage().At(5000).Gauge(kInbound, 2).Bytes());
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Inbound("web-0"), "5");
}

TEST_F(GrpcServerTest, ShutdownEndsOpenStreams) {
  Start();
  RawStream stream(Connect());
  ASSERT_TRUE(stream.Write(Push("web-0", 1)));
  EXPECT_TRUE(EventuallyInbound("web-0", "1"));
  server_->Shutdown(milliseconds(10));
  EXPECT_EQ(metrics_.open_streams.Value(), 0);
  EXPECT_FALSE(stream.Finish().ok());
}

TEST_F(GrpcServerTest, UnknownMethodIsUnimplemented) {
  Start();
  grpc::GenericStub stub(Connect());
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, "/shop.Service/Method", {}, &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, this);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(GrpcServerTest, ConnectionIsAskedToMoveAtItsMaximumAge) {
  Start({.max_connection_age = milliseconds(100), .connection_age_grace = milliseconds(100)});
  RawStream stream(Connect());
  ASSERT_TRUE(stream.Write(Push("web-0", 1)));
  EXPECT_FALSE(stream.Finish().ok());
  EXPECT_EQ(Inbound("web-0"), "1");
}

TEST_F(GrpcServerTest, PortInUseIsAnErrorThatNamesTheAddress) {
  Start();
  MetricsService other({}, ingest_);
  const auto second = GrpcServer::Start({.port = server_->port()}, other);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::Code::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr("127.0.0.1:" + std::to_string(server_->port())));
}

/// Certificates in a folder of the test's own.
class GrpcTlsTest : public GrpcServerTest {
 protected:
  GrpcTlsTest() : folder_(testing::TempDir() + "grpc_tls_" + std::to_string(getpid())) {
    files_ = {folder_ + "/tls.crt", folder_ + "/tls.key", ""};
    WritePair(authority_);
    Write(folder_ + "/ca.crt", client_.certificate_pem);
  }
  ~GrpcTlsTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  static net::TlsPair Authority(const std::string& name) {
    return *net::MakeAuthority(name, std::chrono::system_clock::now(), std::chrono::hours(24));
  }
  static net::TlsPair Signed(const net::TlsPair& authority) {
    return *net::MakeSigned(authority, {"localhost"}, std::chrono::system_clock::now(),
                            std::chrono::hours(24));
  }
  /// A client's certificate that is its own authority.
  static net::TlsPair SelfSignedClient(const std::string& folder) {
    std::filesystem::create_directories(folder);
    const std::string key = folder + "/client.key";
    const std::string certificate = folder + "/client.crt";
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 "
        "-subj /CN=envoy -keyout '" +
        key + "' -out '" + certificate + "' 2>/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return {Read(certificate), Read(key)};
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path + ".new") << text;
    std::filesystem::rename(path + ".new", path);
  }
  void WritePair(const net::TlsPair& authority) {
    const net::TlsPair pair = Signed(authority);
    Write(files_.private_key, pair.private_key_pem);
    Write(files_.certificate, pair.certificate_pem);
  }

  /// Whether a client that trusts `authority` and shows `client`'s certificate can push.
  bool CanPush(const net::TlsPair& authority, const net::TlsPair& client = {}) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = authority.certificate_pem;
    options.pem_private_key = client.private_key_pem;
    options.pem_cert_chain = client.certificate_pem;
    RawStream stream(Connect(grpc::SslCredentials(options)));
    if (!stream.Write(Push("web-0", 1))) return false;
    stream.CloseWrites();
    return stream.Finish().ok();
  }

  const std::string folder_;
  const net::TlsPair authority_ = Authority("server");
  const net::TlsPair client_ = SelfSignedClient(folder_);
  TlsFiles files_;
};

TEST_F(GrpcTlsTest, ServesWithItsCertificateAndNotInPlaintext) {
  Start({.tls = files_});
  EXPECT_TRUE(CanPush(authority_));
  EXPECT_FALSE(CanPush(client_)) << "a client that does not trust the certificate";
  RawStream plain(Connect());
  EXPECT_FALSE(plain.Write(Push("web-0", 1)));
}

TEST_F(GrpcTlsTest, ClientsNeedACertificateOfTheGivenAuthority) {
  files_.client_ca = folder_ + "/ca.crt";
  Start({.tls = files_});
  EXPECT_FALSE(CanPush(authority_));
  EXPECT_FALSE(CanPush(authority_, Signed(authority_)));
  EXPECT_TRUE(CanPush(authority_, client_));
}

TEST_F(GrpcTlsTest, ChangedFilesAreServedToNewConnections) {
  Start({.tls = files_, .tls_refresh = seconds(1)});
  EXPECT_TRUE(CanPush(authority_));
  const net::TlsPair next = Authority("next");
  WritePair(next);
  EXPECT_TRUE(Eventually([&] { return CanPush(next); }));
}

TEST_F(GrpcTlsTest, BadFilesAreErrorsAtStartThatNameThem) {
  MetricsService service({}, ingest_);
  const auto error_of = [&](const TlsFiles& files) {
    const auto server = GrpcServer::Start({.port = 0, .tls = files}, service);
    return server ? "started" : server.error().message;
  };
  TlsFiles missing = files_;
  missing.private_key = folder_ + "/nothing.key";
  EXPECT_THAT(error_of(missing), HasSubstr("nothing.key"));
  Write(folder_ + "/other.key", Signed(authority_).private_key_pem);
  TlsFiles mismatched = files_;
  mismatched.private_key = folder_ + "/other.key";
  EXPECT_THAT(error_of(mismatched), HasSubstr("other.key"));
  TlsFiles not_pem = files_;
  not_pem.client_ca = folder_ + "/tls.key";
  EXPECT_THAT(error_of(not_pem), HasSubstr("no certificate"));
}

}  // namespace
}  // namespace activescale::ingest
