#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/testing/fake_clock.h"
#include "ingest/grpc_server.h"
#include "keda/external_scaler_service.h"
#include "keda/hpa_metric.h"
#include "net/self_signed.h"
#include "net/testing/test_authority.h"
#include "signal/testing/signal_fixture.h"

namespace activescale::keda {
namespace {

using externalscaler::ExternalScaler;
using externalscaler::IsActiveResponse;
using externalscaler::ScaledObjectRef;
using std::chrono::seconds;
using testing::HasSubstr;

ScaledObjectRef Object(const std::map<std::string, std::string>& metadata) {
  ScaledObjectRef ref;
  ref.set_namespace_("shop");
  ref.set_name("web");
  ref.mutable_scalermetadata()->insert(metadata.begin(), metadata.end());
  return ref;
}

/// A server on a free port and a client of it; questions are answered on the asking thread of gRPC.
class ExternalScalerServiceTest : public testing::Test {
 protected:
  ExternalScalerServiceTest() {
    signals_.Set("inflight", {}, 20.5);
    signals_.Configure("signals: [{name: load, expression: sum(inflight), target: 4.5}]");
  }
  ~ExternalScalerServiceTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  void Start(const ingest::TlsFiles& tls = {}) {
    ingest::GrpcServerOptions options;
    options.port = 0;
    options.tls = tls;
    auto server = ingest::GrpcServer::Start(options, service_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    stub_ = Connect(grpc::InsecureChannelCredentials());
  }
  std::unique_ptr<ExternalScaler::Stub> Connect(
      const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetSslTargetNameOverride("localhost");
    return ExternalScaler::NewStub(grpc::CreateCustomChannel(
        "127.0.0.1:" + std::to_string(server_->port()), credentials, arguments));
  }
  static grpc::Status AskIsActive(ExternalScaler::Stub& stub, const ScaledObjectRef& object,
                                  IsActiveResponse* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + seconds(20));
    return stub.IsActive(&context, object, response);
  }
  std::string Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("external_scaler_test." + std::to_string(getpid()));
  base::FakeClock clock_;
  telemetry::Registry registry_;
  signal::SignalFixture signals_{clock_, registry_};
  Scaler scaler_{[this] { return signals_.catalogue(); }, signals_.reader()};
  signal::StandingMoments moments_{clock_};
  ActivityWatch watch_{scaler_, clock_, 2};
  ExternalScalerService service_{
      scaler_,  moments_, watch_, {}, [](std::move_only_function<void()> work) { work(); },
      registry_};
  std::unique_ptr<ingest::GrpcServer> server_;
  std::unique_ptr<ExternalScaler::Stub> stub_;
};

TEST_F(ExternalScalerServiceTest, AnswersInBothFieldsOfEachNumber) {
  Start();
  const ScaledObjectRef object = Object({{"signal", "load"}});
  grpc::ClientContext spec_context;
  externalscaler::GetMetricSpecResponse spec;
  ASSERT_TRUE(stub_->GetMetricSpec(&spec_context, object, &spec).ok());
  ASSERT_EQ(spec.metricspecs_size(), 1);
  EXPECT_EQ(spec.metricspecs(0).metricname(), "load");
  EXPECT_EQ(spec.metricspecs(0).targetsize(), 5);
  EXPECT_EQ(spec.metricspecs(0).targetsizefloat(), 4.5);

  grpc::ClientContext context;
  externalscaler::GetMetricsRequest request;
  *request.mutable_scaledobjectref() = object;
  request.set_metricname("s0-load");
  externalscaler::GetMetricsResponse metrics;
  ASSERT_TRUE(stub_->GetMetrics(&context, request, &metrics).ok());
  ASSERT_EQ(metrics.metricvalues_size(), 1);
  EXPECT_EQ(metrics.metricvalues(0).metricname(), "s0-load");
  EXPECT_EQ(metrics.metricvalues(0).metricvalue(), 21);
  EXPECT_EQ(metrics.metricvalues(0).metricvaluefloat(), 20.5);

  clock_.Advance(seconds(5));
  moments_.Stand(QuestionOf(object.namespace_(), object.name(), "load"), seconds(16));
  clock_.Advance(seconds(5));
  signals_.Set("inflight", {}, 3);
  grpc::ClientContext standing_context;
  externalscaler::GetMetricsResponse standing;
  ASSERT_TRUE(stub_->GetMetrics(&standing_context, request, &standing).ok());
  EXPECT_EQ(standing.metricvalues(0).metricvaluefloat(), 20.5) << "as of the step";

  IsActiveResponse active;
  ASSERT_TRUE(AskIsActive(*stub_, object, &active).ok());
  EXPECT_TRUE(active.result());
}

TEST_F(ExternalScalerServiceTest, WhatIsMissingIsAnErrorOfTheCall) {
  Start();
  IsActiveResponse active;
  const struct {
    std::map<std::string, std::string> metadata;
    grpc::StatusCode code;
    std::string text;
  } cases[] = {
      {{}, grpc::StatusCode::INVALID_ARGUMENT, "either signal"},
      {{{"signal", "other"}}, grpc::StatusCode::NOT_FOUND, "there are load"},
      {{{"query", "sum(nothing)"}, {"threshold", "1"}}, grpc::StatusCode::NOT_FOUND, "no value"},
      {{{"query", "sum(inflight) / 0"}, {"threshold", "1"}}, grpc::StatusCode::INTERNAL, "+Inf"},
  };
  for (const auto& c : cases) {
    const grpc::Status status = AskIsActive(*stub_, Object(c.metadata), &active);
    EXPECT_EQ(status.error_code(), c.code);
    EXPECT_THAT(status.error_message(), HasSubstr(c.text));
    EXPECT_FALSE(active.result());
  }
  signals_.Break("the store is away");
  const grpc::Status status = AskIsActive(*stub_, Object({{"signal", "load"}}), &active);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ExternalScalerServiceTest, AStreamTellsThePresentStateAndThenWhatWakes) {
  Start();
  signals_.Set("queue", {}, 0);
  grpc::ClientContext context;
  const auto reader =
      stub_->StreamIsActive(&context, Object({{"query", "queue"}, {"threshold", "1"}}));
  reader->WaitForInitialMetadata();
  watch_.Tick();
  IsActiveResponse event;
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_FALSE(event.result());
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(seconds(2));
    signals_.Set("queue", {}, 7);
    watch_.Tick();
  }
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_TRUE(event.result());
  context.TryCancel();
  EXPECT_FALSE(reader->Read(&event));
}

TEST_F(ExternalScalerServiceTest, AStreamTooManyOrWithoutATriggerEndsWithItsReason) {
  Start();
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<IsActiveResponse>>> readers;
  const auto open = [&](const ScaledObjectRef& object) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    readers.push_back(stub_->StreamIsActive(contexts.back().get(), object));
  };
  IsActiveResponse event;
  for (int i = 0; i < 2; ++i) {
    open(Object({{"query", "inflight"}, {"threshold", "1"}}));
    readers.back()->WaitForInitialMetadata();
  }
  open(Object({{"query", "inflight"}, {"threshold", "1"}}));
  EXPECT_FALSE(readers.back()->Read(&event));
  EXPECT_EQ(readers.back()->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  open(Object({{"query", "inflight"}}));
  EXPECT_FALSE(readers.back()->Read(&event));
  EXPECT_EQ(readers.back()->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  for (const auto& context : contexts) context->TryCancel();
}

// Case A9: whoever does not read costs one message, and holds nobody up.
TEST_F(ExternalScalerServiceTest, ASlowReaderHoldsUpNobody) {
  Start();
  grpc::ClientContext context;
  const auto slow = stub_->StreamIsActive(&context, Object({{"query", "q"}, {"threshold", "1"}}));
  slow->WaitForInitialMetadata();
  for (int i = 0; i < 2000; ++i) {
    clock_.Advance(seconds(2));
    signals_.Set("q", {}, i % 2);
    watch_.Wake();
    watch_.Tick();
  }
  signals_.Set("inflight", {}, 1);
  IsActiveResponse active;
  EXPECT_TRUE(AskIsActive(*stub_, Object({{"signal", "load"}}), &active).ok());
  // Shutting down does not wait for the reader.
  server_->Shutdown(std::chrono::milliseconds(10));
  IsActiveResponse event;
  while (slow->Read(&event)) {
  }
  EXPECT_FALSE(slow->Finish().ok());
}

// Case D7: what speaks plain text does not get through to a port with TLS, nor the other way round.
TEST_F(ExternalScalerServiceTest, TlsAsksForTheClientsCertificate) {
  const net::TestAuthority authority("test");
  const net::TlsPair client = authority.Issue({.common_name = "keda", .organizations = {}});
  const auto server =
      net::MakeSelfSigned({"localhost"}, std::chrono::system_clock::now(), std::chrono::hours(1));
  ASSERT_TRUE(server);
  Start({.certificate = Write("tls.crt", server->certificate_pem),
         .private_key = Write("tls.key", server->private_key_pem),
         .client_ca = Write("ca.crt", authority.certificate_pem())});
  const ScaledObjectRef object = Object({{"signal", "load"}});
  IsActiveResponse active;
  const auto tls = [&](const std::string& certificate, const std::string& key) {
    const auto stub = Connect(grpc::SslCredentials({server->certificate_pem, key, certificate}));
    return AskIsActive(*stub, object, &active).ok();
  };
  EXPECT_FALSE(AskIsActive(*stub_, object, &active).ok());
  EXPECT_FALSE(tls("", ""));
  EXPECT_TRUE(tls(client.certificate_pem, client.private_key_pem));
  EXPECT_TRUE(active.result());
}

}  // namespace
}  // namespace activescale::keda
