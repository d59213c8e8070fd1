#include "redis/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace activescale::redis {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> Texts(const Config& config) {
  std::vector<std::string> texts;
  for (const Address& address : config.addresses) texts.push_back(address.ToString());
  return texts;
}

TEST(ConfigTest, FindsTheModeFromWhatIsGiven) {
  const struct {
    Settings settings;
    Mode mode;
    std::vector<std::string> addresses;
  } cases[] = {
      {{.address = "redis:6379"}, Mode::kStandalone, {"redis:6379"}},
      {{.address = "redis"}, Mode::kStandalone, {"redis:6379"}},
      {{.address = "a:1,b:2"}, Mode::kCluster, {"a:1", "b:2"}},
      {{.address = "a:1", .cluster = true}, Mode::kCluster, {"a:1"}},
      {{.address = "a,b:2", .sentinel_master = "mymaster"}, Mode::kSentinel, {"a:26379", "b:2"}},
      {{.address = "redis://a:1,b:2"}, Mode::kCluster, {"a:1", "b:2"}},
  };
  for (const auto& c : cases) {
    const auto config = MakeConfig(c.settings);
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->mode, c.mode) << c.settings.address;
    EXPECT_EQ(Texts(*config), c.addresses);
  }
}

TEST(ConfigTest, ReadsAUrlWithEverything) {
  const auto config = MakeConfig({.address = "rediss://ops:p%40ss:w%2F@redis.shop:7000/3"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->tls.enabled);
  EXPECT_EQ(config->login.user, "ops");
  EXPECT_EQ(config->login.password.Reveal(), "p@ss:w/");
  EXPECT_EQ(config->database, 3);
  EXPECT_EQ(Texts(*config), std::vector<std::string>{"redis.shop:7000"});
}

TEST(ConfigTest, UrlWithoutUserIsTheDefaultUser) {
  const auto config = MakeConfig({.address = "redis://:secret@h"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->login.user, "");
  EXPECT_EQ(config->login.password.Reveal(), "secret");
  EXPECT_FALSE(config->tls.enabled);
}

TEST(ConfigTest, NamesEveryFaultAndNoSecret) {
  const auto config = MakeConfig({.address = "http://u:hunter2@a:1:2]/x",
                                  .password = "hunter3",
                                  .password_file = "/etc/pw",
                                  .ca_file = "/ca.pem",
                                  .cert_file = "/c.pem"});
  ASSERT_FALSE(config);
  const std::string& message = config.error().message;
  EXPECT_THAT(message, HasSubstr("scheme \"http\""));
  EXPECT_THAT(message, HasSubstr("database"));
  EXPECT_THAT(message, HasSubstr("host:port"));
  EXPECT_THAT(message, HasSubstr("REDIS_PASSWORD_FILE"));
  EXPECT_THAT(message, HasSubstr("REDIS_CA_FILE has no effect"));
  EXPECT_THAT(message, HasSubstr("REDIS_KEY_FILE"));
  EXPECT_THAT(message, Not(HasSubstr("hunter")));
}

TEST(ConfigTest, RefusesWhatCannotWork) {
  const struct {
    Settings settings;
    const char* want;
  } cases[] = {
      {{.address = ""}, "no address"},
      {{.address = "a,,b"}, "host:port"},
      {{.address = "redis://a/2", .cluster = true}, "only database 0"},
      {{.address = "a", .cluster = true, .sentinel_master = "m"}, "a Cluster has no Sentinel"},
      {{.address = "a", .user = "ops"}, "REDIS_USERNAME needs"},
      {{.address = "a", .sentinel_master = "m", .sentinel_user = "ops"},
       "REDIS_SENTINEL_USERNAME needs"},
      {{.address = "redis://u:%zz@a"}, "two hex digits"},
      {{.address = "a", .tls_insecure = true}, "REDIS_TLS_INSECURE has no effect"},
  };
  for (const auto& c : cases) {
    const auto config = MakeConfig(c.settings);
    ASSERT_FALSE(config) << c.want;
    EXPECT_THAT(config.error().message, HasSubstr(c.want));
  }
}

TEST(ConfigTest, PasswordFileIsReadAgainEachTime) {
  std::string path = std::filesystem::temp_directory_path() / "redis-password-XXXXXX";
  const int fd = mkstemp(path.data());
  ASSERT_GE(fd, 0);
  const Login login{.user = "", .password = Secret(), .password_file = path};
  std::ofstream(path) << "first\n";
  EXPECT_EQ(login.ReadPassword()->Reveal(), "first");
  std::ofstream(path) << "second\r\n";
  EXPECT_EQ(login.ReadPassword()->Reveal(), "second");
  std::filesystem::remove(path);
  const auto gone = login.ReadPassword();
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, HasSubstr(path));
}

}  // namespace
}  // namespace activescale::redis
