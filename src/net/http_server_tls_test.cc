#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <future>
#include <string>

#include "net/http_server.h"
#include "net/self_signed.h"
#include "net/testing/server_fixture.h"
#include "net/testing/test_client.h"

namespace activescale::net {
namespace {

using std::chrono::hours;

TlsPair MakePair(const std::string& name) {
  return *MakeSelfSigned({name, "127.0.0.1"}, std::chrono::system_clock::now(), hours(24));
}

/// Serves TLS with the pair "first"; answers with the client's chain.
class HttpServerTlsTest : public testing::Test {
 protected:
  HttpServerTlsTest() {
    tls_.Set(*TlsContext::ForServer(pair_));
    HttpServerOptions options;
    options.tls = &tls_;
    server_ = std::make_unique<RunningServer>(handler_, std::move(options));
  }
  std::unique_ptr<TestClient> Connect(TestTls tls = {}) {
    return TestClient::Connect(server_->server->port(), std::move(tls));
  }

  const TlsPair pair_ = MakePair("first");
  base::Snapshot<TlsContext> tls_;
  FunctionHandler handler_{[](const HttpRequest& request, HttpResponder respond) {
    respond({200,
             "text/plain",
             request.peer_certificate ? request.peer_certificate->chain_pem : "no TLS",
             {}});
  }};
  std::unique_ptr<RunningServer> server_;
};

TEST_F(HttpServerTlsTest, ServesWithoutAClientCertificateByAlpnHttp11) {
  auto client = Connect({.client = {}, .max_version = 0, .alpn = {"h2", "http/1.1"}});
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->Alpn(), "http/1.1");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client->Fetch("GET", "/")->body, "");
}

TEST_F(HttpServerTlsTest, AClientThatOffersOnlyOtherProtocolsGoesOnWithoutAlpn) {
  auto client = Connect({.client = {}, .max_version = 0, .alpn = {"h2"}});
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->Alpn(), "");
  EXPECT_EQ(client->Fetch("GET", "/")->status, 200);
}

TEST_F(HttpServerTlsTest, HandsTheWholeChainOfAnyClientOn) {
  TlsPair stranger = MakePair("stranger");
  const std::string leaf = stranger.certificate_pem;
  const std::string other = MakePair("other").certificate_pem;
  stranger.certificate_pem += other;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    auto client = Connect({.client = stranger, .max_version = version});
    ASSERT_NE(client, nullptr) << version;
    EXPECT_EQ(client->Fetch("GET", "/")->body, leaf + other) << version;
  }
}

TEST_F(HttpServerTlsTest, RefusesTls11) {
  EXPECT_EQ(Connect({.client = {}, .max_version = TLS1_1_VERSION}), nullptr);
  EXPECT_TRUE(server_->WaitFor(ConnectionEvent::kHandshakeFailed, 1));
}

TEST_F(HttpServerTlsTest, GarbageInsteadOfAHandshakeIsCountedAndClosed) {
  auto plain = TestClient::Connect(server_->server->port());
  plain->Send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(server_->WaitFor(ConnectionEvent::kHandshakeFailed, 1));
  auto random = TestClient::Connect(server_->server->port());
  random->Send(std::string(5000, '\x16'));
  EXPECT_TRUE(server_->WaitFor(ConnectionEvent::kHandshakeFailed, 2));
  EXPECT_EQ(Connect()->Fetch("GET", "/")->status, 200);
}

TEST_F(HttpServerTlsTest, AHandshakeThatNeverEndsIsCut) {
  auto silent = TestClient::Connect(server_->server->port());
  EXPECT_TRUE(server_->WaitFor(ConnectionEvent::kOpened, 1));
  EXPECT_TRUE(server_->AdvanceUntil(ConnectionEvent::kHandshakeTimeout));
  EXPECT_TRUE(silent->WaitForClose());
}

TEST_F(HttpServerTlsTest, AReloadedPairServesNewConnectionsAndOldOnesGoOn) {
  auto before = Connect();
  EXPECT_EQ(before->ServerCertificate(), pair_.certificate_pem);
  const TlsPair second = MakePair("second");
  tls_.Set(*TlsContext::ForServer(second));
  auto after = Connect();
  EXPECT_EQ(after->ServerCertificate(), second.certificate_pem);
  EXPECT_EQ(before->Fetch("GET", "/")->status, 200);
  EXPECT_EQ(after->Fetch("GET", "/")->status, 200);
}

TEST_F(HttpServerTlsTest, AnAnswerOfManyRecordsArrivesWhole) {
  FunctionHandler handler([](const HttpRequest&, HttpResponder respond) {
    respond({200, "text/plain", std::string(3'000'000, 'y'), {}});
  });
  HttpServerOptions options;
  options.tls = &tls_;
  RunningServer server(handler, std::move(options));
  auto client = TestClient::Connect(server.server->port(), TestTls{});
  EXPECT_EQ(client->Fetch("GET", "/")->body, std::string(3'000'000, 'y'));
}

TEST_F(HttpServerTlsTest, IdleTlsConnectionsAreClosedByDrain) {
  auto idle = Connect();
  ASSERT_TRUE(idle->Fetch("GET", "/"));
  auto drained = std::async(std::launch::async,
                            [this] { return server_->server->Drain(std::chrono::seconds(20)); });
  EXPECT_TRUE(idle->WaitForClose());
  idle.reset();
  EXPECT_TRUE(drained.get());
}

TEST(TlsContextTest, RefusesBrokenPairsWithAMessageThatHasNoKeyInIt) {
  const TlsPair good = MakePair("good");
  const TlsPair other = MakePair("other");
  const struct {
    const char* name;
    TlsPair pair;
    const char* message;
  } cases[] = {
      {"empty", {}, "no PEM block"},
      {"no certificate", {"hello", good.private_key_pem}, "no PEM block"},
      {"no key", {good.certificate_pem, ""}, "cannot parse the PEM private key"},
      {"broken certificate",
       {good.certificate_pem.substr(0, 200) + "\n-----END CERTIFICATE-----\n",
        good.private_key_pem},
       "cannot parse the PEM certificate"},
      {"mismatch", {good.certificate_pem, other.private_key_pem}, "not the certificate's"},
  };
  for (const auto& c : cases) {
    const auto context = TlsContext::ForServer(c.pair);
    ASSERT_FALSE(context) << c.name;
    EXPECT_EQ(context.error().code, base::Code::kInvalidArgument) << c.name;
    EXPECT_THAT(context.error().message, testing::HasSubstr(c.message)) << c.name;
    EXPECT_THAT(context.error().message, testing::Not(testing::HasSubstr("MIG"))) << c.name;
  }
}

}  // namespace
}  // namespace activescale::net
