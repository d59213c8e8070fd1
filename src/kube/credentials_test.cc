#include "kube/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/fake_clock.h"

namespace activescale::kube {
namespace {

using base::Code;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kPem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
constexpr std::string_view kPemBase64 =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";

/// Files in a directory of the test's own.
class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "credentials.XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
  }
  ~CredentialsTest() override { std::filesystem::remove_all(dir_); }

  std::string Write(const std::string& name, std::string_view text) {
    std::ofstream(dir_ + "/" + name) << text;
    return dir_ + "/" + name;
  }

  /// A kubeconfig of one cluster and one user with these members.
  base::Result<ClusterAccess> Load(const std::string& cluster, const std::string& user) {
    return LoadKubeconfig(Write("config",
                                "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                                "contexts: [{name: c, context: {cluster: k, user: u, "
                                "namespace: team}}]\n"
                                "clusters: [{name: k, cluster: {" +
                                    cluster +
                                    "}}]\n"
                                    "users: [{name: u, user: {" +
                                    user + "}}]\n"));
  }

  std::string dir_;
};

TEST_F(CredentialsTest, InClusterAccessComesFromTheServiceAccount) {
  Write("token", "secret-token\n");
  Write("ca.crt", kPem);
  Write("namespace", "ns-observability");
  for (const auto& [host, server] :
       {std::pair{"10.0.0.1", "https://10.0.0.1:443"}, {"fd00::1", "https://[fd00::1]:443"}}) {
    const auto access = InClusterAccess(host, "443", dir_);
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->server, server);
    EXPECT_EQ(access->token_file, dir_ + "/token");
    EXPECT_EQ(access->tls->ca_file, dir_ + "/ca.crt");
    EXPECT_EQ(access->ns, "ns-observability");
  }
}

TEST_F(CredentialsTest, OutsideOfAClusterSaysSo) {
  auto access = InClusterAccess("", "", dir_);
  ASSERT_FALSE(access);
  EXPECT_EQ(access.error().code, Code::kNotFound);
  EXPECT_THAT(access.error().message, HasSubstr("--kubeconfig"));
  access = InClusterAccess("10.0.0.1", "443", dir_);
  ASSERT_FALSE(access);
  EXPECT_THAT(access.error().message, HasSubstr(dir_ + "/token"));
  Write("token", "t");
  access = InClusterAccess("10.0.0.1", "443", dir_);
  ASSERT_FALSE(access);
  EXPECT_THAT(access.error().message, HasSubstr("ca.crt"));
}

TEST_F(CredentialsTest, KubeconfigInDataForm) {
  const std::string data(kPemBase64);
  const auto access =
      Load("server: 'https://api:6443/', certificate-authority-data: " + data +
               ", tls-server-name: kube, proxy-url: 'http://proxy:3128'",
           "client-certificate-data: " + data + ", client-key-data: " + data + ", token: abc");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server, "https://api:6443");
  EXPECT_EQ(access->proxy, "http://proxy:3128");
  EXPECT_EQ(access->tls->server_name, "kube");
  EXPECT_EQ(access->tls->ca_pem, kPem);
  EXPECT_EQ(access->tls->cert_pem, kPem);
  EXPECT_EQ(access->tls->key_pem, kPem);
  EXPECT_EQ(access->token, "abc");
  EXPECT_EQ(access->ns, "team");
  EXPECT_THAT(access->origin, HasSubstr("context c"));
}

TEST_F(CredentialsTest, KubeconfigInFileFormIsRelativeToItself) {
  Write("ca.pem", kPem);
  const std::string key = Write("key.pem", kPem);
  Write("token", "t");
  const auto access = Load("server: 'https://api', certificate-authority: ca.pem",
                           "client-certificate: ca.pem, client-key: " + key + ", tokenFile: token");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->tls->ca_file, dir_ + "/ca.pem");
  EXPECT_EQ(access->tls->cert_file, dir_ + "/ca.pem");
  EXPECT_EQ(access->tls->key_file, key);
  EXPECT_EQ(access->token_file, dir_ + "/token");
}

TEST_F(CredentialsTest, DataCountsBeforeFile) {
  const auto access = Load(
      "server: 'https://api', certificate-authority: absent.pem, "
      "certificate-authority-data: " +
          std::string(kPemBase64),
      "");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->tls->ca_file, "");
  EXPECT_EQ(access->tls->ca_pem, kPem);
}

TEST_F(CredentialsTest, FaultsOfAKubeconfigNameTheFieldAndNoSecret) {
  struct Case {
    std::string cluster;
    std::string user;
    Code code;
    std::string message;
  };
  const std::string server = "server: 'https://api'";
  const Case cases[] = {
      {"", "", Code::kInvalidArgument, "server is not an https:// URL"},
      {"server: 'ftp://api'", "", Code::kInvalidArgument, "server is not an https:// URL"},
      {server + ", certificate-authority-data: '%SECRET%'", "", Code::kInvalidArgument,
       "certificate-authority-data is not PEM in base64"},
      {server + ", certificate-authority-data: SECRET", "", Code::kInvalidArgument,
       "certificate-authority-data is not PEM"},
      {server + ", certificate-authority: absent.pem", "", Code::kInvalidArgument, "absent.pem"},
      {server + ", insecure-skip-tls-verify: true, certificate-authority-data: " +
           std::string(kPemBase64),
       "", Code::kInvalidArgument, "exclude each other"},
      {server, "exec: {command: SECRET}", Code::kUnimplemented, "exec plugins are not run"},
      {server, "auth-provider: {name: oidc}", Code::kUnimplemented, "auth-provider"},
      {server, "username: a, password: SECRET", Code::kUnimplemented, "passwords"},
      {server, "as: SECRET", Code::kUnimplemented, "impersonation"},
      {server, "client-certificate-data: " + std::string(kPemBase64), Code::kInvalidArgument,
       "need each other"},
      {server, "tokenFile: absent", Code::kInvalidArgument, "tokenFile"},
  };
  for (const Case& c : cases) {
    const auto access = Load(c.cluster, c.user);
    ASSERT_FALSE(access) << c.message;
    EXPECT_EQ(access.error().code, c.code) << access.error().message;
    EXPECT_THAT(access.error().message, HasSubstr(c.message));
    EXPECT_THAT(access.error().message, HasSubstr(dir_ + "/config"));
    EXPECT_THAT(access.error().message, Not(HasSubstr("SECRET")));
  }
}

TEST_F(CredentialsTest, BrokenKubeconfigs) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no YAML map"},
      {"- 1\n- 2", "no YAML map"},
      {"a: [1, 2", "not YAML: line 1"},
      {"contexts: []", "no current-context"},
      {"current-context: c", "no context named 'c' in contexts (there: none)"},
      {"current-context: c\ncontexts: [{name: d, context: {}}, 7, {name: e}]", "(there: d, e)"},
      {"current-context: c\ncontexts: [{name: c, context: {cluster: k}}]", "no cluster named 'k'"},
      {"current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
       "clusters: [{name: k, cluster: {server: 'https://x'}}]",
       "no user named 'u'"},
      {"current-context: {a: b}\ncontexts: 3", "no current-context"},
  };
  for (const auto& [text, message] : cases) {
    const auto access = LoadKubeconfig(Write("config", text));
    ASSERT_FALSE(access) << text;
    EXPECT_THAT(access.error().message, HasSubstr(message)) << text;
  }
  const auto absent = LoadKubeconfig(dir_ + "/none");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::kNotFound);
}

TEST_F(CredentialsTest, ARotatedTokenIsTakenUpAndALostFileKeepsTheLast) {
  base::FakeClock clock;
  ClusterAccess access;
  access.token_file = Write("token", "one\n");
  TokenSource source(access, clock);
  EXPECT_EQ(source.Get(), "one");
  Write("token", "two\n");
  EXPECT_EQ(source.Get(), "one");
  clock.Advance(std::chrono::seconds(60));
  EXPECT_EQ(source.Get(), "two");
  EXPECT_FALSE(source.Refresh());
  Write("token", "three");
  EXPECT_TRUE(source.Refresh());
  EXPECT_EQ(source.Get(), "three");
  std::filesystem::remove(access.token_file);
  clock.Advance(std::chrono::seconds(60));
  EXPECT_EQ(source.Get(), "three");
}

TEST_F(CredentialsTest, AFixedTokenStays) {
  base::FakeClock clock;
  ClusterAccess access;
  access.token = "fixed";
  TokenSource source(access, clock);
  EXPECT_EQ(source.Get(), "fixed");
  EXPECT_FALSE(source.Refresh());
}

}  // namespace
}  // namespace activescale::kube
