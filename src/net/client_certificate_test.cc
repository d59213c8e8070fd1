#include "net/client_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "net/testing/test_authority.h"

namespace activescale::net {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::HasSubstr;

class ClientCertificateVerifierTest : public testing::Test {
 protected:
  const base::WallTime now_ = std::chrono::system_clock::now();
  TestAuthority authority_{"ours", now_};
  std::unique_ptr<ClientCertificateVerifier> verifier_ =
      *ClientCertificateVerifier::FromPem(authority_.certificate_pem());
};

TEST_F(ClientCertificateVerifierTest, ReadsUserAndGroupsOfATrustedChain) {
  const auto pair = authority_.Issue({.common_name = "jane", .organizations = {"dev", "ops"}});
  for (int i = 0; i < 2; ++i) {  // the second time from memory
    const auto subject = verifier_->Verify(pair.certificate_pem, now_);
    ASSERT_TRUE(subject) << subject.error().message;
    EXPECT_EQ(subject->common_name, "jane");
    EXPECT_THAT(subject->organizations, ElementsAre("dev", "ops"));
  }
}

TEST_F(ClientCertificateVerifierTest, JudgesAsKubernetesDoes) {
  const TestAuthority stranger("ours");  // the same name, another key
  const TestAuthority middle = authority_.Intermediate("middle");
  const std::string chain = middle.Issue({.common_name = "x"}).certificate_pem;
  const struct {
    const char* name;
    std::string chain;
    bool good;
  } cases[] = {
      {"client", authority_.Issue({.common_name = "x"}).certificate_pem, true},
      {"no extended key usage",
       authority_.Issue({.common_name = "x", .extended_key_usage = ""}).certificate_pem, true},
      {"both usages",
       authority_.Issue({.common_name = "x", .extended_key_usage = "clientAuth,serverAuth"})
           .certificate_pem,
       true},
      {"server only",
       authority_.Issue({.common_name = "x", .extended_key_usage = "serverAuth"}).certificate_pem,
       false},
      {"stranger", stranger.Issue({.common_name = "x"}).certificate_pem, false},
      {"by an intermediate that is shown", chain, true},
      {"by an intermediate that is not shown", chain.substr(0, chain.find("-----BEGIN", 10)),
       false},
      {"expired",
       authority_.Issue({.common_name = "x", .valid_until = minutes(-1)}).certificate_pem, false},
      {"not yet valid",
       authority_.Issue({.common_name = "x", .valid_from = minutes(1)}).certificate_pem, false},
      {"no certificate", "hello", false},
      {"nothing", "", false},
  };
  for (const auto& c : cases) {
    const auto subject = verifier_->Verify(c.chain, now_);
    EXPECT_EQ(subject.has_value(), c.good) << c.name;
    if (!subject) {
      EXPECT_EQ(subject.error().code, base::Code::kUnauthenticated) << c.name;
    }
  }
}

TEST_F(ClientCertificateVerifierTest, AnIntermediateInTheSetIsAnAnchorByItself) {
  const TestAuthority middle = authority_.Intermediate("middle");
  auto verifier = ClientCertificateVerifier::FromPem(middle.certificate_pem());
  EXPECT_TRUE((*verifier)->Verify(middle.Issue({.common_name = "x"}).certificate_pem, now_));
  EXPECT_FALSE((*verifier)->Verify(authority_.Issue({.common_name = "x"}).certificate_pem, now_));
}

TEST_F(ClientCertificateVerifierTest, ARememberedChainStillExpires) {
  const auto pair = authority_.Issue({.common_name = "x", .valid_until = minutes(5)});
  EXPECT_TRUE(verifier_->Verify(pair.certificate_pem, now_));
  EXPECT_TRUE(verifier_->Verify(pair.certificate_pem, now_ + minutes(4)));
  const auto late = verifier_->Verify(pair.certificate_pem, now_ + minutes(6));
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("expired"));
}

TEST_F(ClientCertificateVerifierTest, OfTwoAuthoritiesWithOneNameEachIsTried) {
  const TestAuthority next("ours", now_);
  const std::string old_client = authority_.Issue({.common_name = "x"}).certificate_pem;
  const std::string new_client = next.Issue({.common_name = "x"}).certificate_pem;
  for (const std::string& set : {authority_.certificate_pem() + next.certificate_pem(),
                                 next.certificate_pem() + authority_.certificate_pem()}) {
    auto both = ClientCertificateVerifier::FromPem(set);
    EXPECT_TRUE((*both)->Verify(old_client, now_));
    EXPECT_TRUE((*both)->Verify(new_client, now_));
  }
}

TEST_F(ClientCertificateVerifierTest, ASetThatDoesNotParseIsRefused) {
  EXPECT_FALSE(ClientCertificateVerifier::FromPem(""));
  EXPECT_FALSE(ClientCertificateVerifier::FromPem("-----BEGIN CERTIFICATE-----\nx\n"));
  TestAuthority other("other");
  auto both =
      ClientCertificateVerifier::FromPem(authority_.certificate_pem() + other.certificate_pem());
  EXPECT_TRUE((*both)->Verify(other.Issue({.common_name = "x"}).certificate_pem, now_));
}

}  // namespace
}  // namespace activescale::net
