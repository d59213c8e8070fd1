#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/self_signed.h"
#include "net/testing/server_fixture.h"

namespace activescale::net {
namespace {

using base::Code;
using std::chrono::hours;
using ::testing::HasSubstr;
using Outcome = base::Result<ClientResponse>;

/// A client, and a server with a certificate for "kube.test" (not for 127.0.0.1) that answers with
/// the Host that it was asked for and the client's certificate.
class HttpClientTlsTest : public ::testing::Test {
 protected:
  HttpClientTlsTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "client_tls.XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
    tls_.Set(*TlsContext::ForServer(
        *MakeSigned(authority_, {"kube.test"}, std::chrono::system_clock::now(), hours(24))));
    HttpServerOptions options;
    options.tls = &tls_;
    server_ = std::make_unique<RunningServer>(handler_, std::move(options));
  }
  ~HttpClientTlsTest() override {
    client_.Stop();
    loop_.join();
    std::filesystem::remove_all(dir_);
  }

  std::string Write(const std::string& name, std::string_view text) {
    std::ofstream(dir_ + "/" + name) << text;
    return dir_ + "/" + name;
  }
  static TlsPair Authority(const std::string& name) {
    return *MakeAuthority(name, std::chrono::system_clock::now(), hours(24));
  }

  Outcome Get(const ClientTls& tls, bool fresh_connection = false) {
    ClientRequest request;
    request.url = "https://127.0.0.1:" + std::to_string(server_->server->port()) + "/path";
    request.tls = std::make_shared<const ClientTls>(tls);
    request.fresh_connection = fresh_connection;
    std::promise<Outcome> outcome;
    client_.Submit(std::move(request), [&](Outcome o) { outcome.set_value(std::move(o)); });
    return outcome.get_future().get();
  }

  const TlsPair authority_ = Authority("ca");
  const TlsPair user_ = *MakeSelfSigned({"user"}, std::chrono::system_clock::now(), hours(24));
  std::string dir_;
  base::Snapshot<TlsContext> tls_;
  FunctionHandler handler_{[](const HttpRequest& request, HttpResponder respond) {
    respond({200,
             "text/plain",
             std::string(request.FindHeader("Host")) + " " + request.peer_certificate->chain_pem,
             {}});
  }};
  std::unique_ptr<RunningServer> server_;
  HttpClient client_;
  std::thread loop_{[this] { client_.Run(); }};
};

TEST_F(HttpClientTlsTest, VerifiesTheServerByAuthorityAndName) {
  const std::string host = "127.0.0.1:" + std::to_string(server_->server->port());
  ClientTls tls;
  tls.ca_pem = authority_.certificate_pem;
  Outcome outcome = Get(tls);
  ASSERT_FALSE(outcome) << "the certificate is for another name";
  EXPECT_EQ(outcome.error().code, Code::kUnavailable);
  EXPECT_THAT(outcome.error().message, HasSubstr("not trusted"));
  tls.server_name = "kube.test";
  outcome = Get(tls);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->body, host + " ") << "Host stays the URL's";
  tls.ca_pem = Authority("stranger").certificate_pem;
  outcome = Get(tls);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("check the CA"));
  EXPECT_FALSE(Get({})) << "the system's authorities do not know it";
  ClientTls insecure;
  insecure.insecure_skip_verify = true;
  EXPECT_TRUE(Get(insecure));
}

TEST_F(HttpClientTlsTest, ShowsAClientCertificateFromDataOrFiles) {
  ClientTls tls;
  tls.ca_file = Write("ca.pem", authority_.certificate_pem);
  tls.server_name = "kube.test";
  tls.cert_pem = user_.certificate_pem;
  tls.key_pem = user_.private_key_pem;
  Outcome outcome = Get(tls);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->body, HasSubstr(user_.certificate_pem));

  tls.cert_pem.clear();
  tls.key_pem.clear();
  tls.cert_file = Write("user.crt", user_.certificate_pem);
  tls.key_file = Write("user.key", user_.private_key_pem);
  outcome = Get(tls);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->body, HasSubstr(user_.certificate_pem));
}

TEST_F(HttpClientTlsTest, RotatedFilesCountForNewConnections) {
  ClientTls tls;
  tls.ca_file = Write("ca.pem", Authority("old").certificate_pem);
  tls.server_name = "kube.test";
  EXPECT_FALSE(Get(tls));
  Write("ca.pem", authority_.certificate_pem);
  EXPECT_TRUE(Get(tls));
  Write("ca.pem", Authority("next").certificate_pem);
  EXPECT_FALSE(Get(tls, true));
}

TEST_F(HttpClientTlsTest, UnusableKeysAndAuthoritiesAreRefusedWithoutTheirContent) {
  ClientTls broken_key;
  broken_key.insecure_skip_verify = true;
  broken_key.cert_pem = user_.certificate_pem;
  broken_key.key_pem = "-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----\n";
  ClientTls absent_file;
  absent_file.insecure_skip_verify = true;
  absent_file.cert_file = dir_ + "/absent.crt";
  absent_file.key_file = dir_ + "/absent.key";
  ClientTls absent_ca;
  absent_ca.ca_file = dir_ + "/absent.pem";
  for (const ClientTls& tls : {broken_key, absent_file, absent_ca}) {
    const Outcome outcome = Get(tls);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, Code::kInvalidArgument) << outcome.error().message;
    EXPECT_THAT(outcome.error().message, ::testing::Not(HasSubstr("SECRET")));
  }
}

}  // namespace
}  // namespace activescale::net
