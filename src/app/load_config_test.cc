#include "app/load_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "app/config_file.h"
#include "app/documentation.h"
#include "app/settings.h"

namespace activescale::app {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LoadConfigTest : public ::testing::Test {
 protected:
  LoadConfigTest() : folder_(std::filesystem::path(::testing::TempDir()) / "activescale-config") {
    std::filesystem::create_directories(folder_);
  }
  ~LoadConfigTest() override { std::filesystem::remove_all(folder_); }

  LoadedConfig Load(const std::vector<std::string>& arguments = {}) {
    return LoadConfig(ParseCommandLine(arguments), [this](std::string_view name) {
      const auto at = environment_.find(name);
      return at == environment_.end() ? std::nullopt : std::optional(at->second);
    });
  }

  std::string File(std::string_view text) {
    const auto path = folder_ / "activescale.yaml";
    std::ofstream(path) << text;
    return path.string();
  }

  std::filesystem::path folder_;
  std::map<std::string, std::string, std::less<>> environment_;
};

TEST_F(LoadConfigTest, WhosePromqlIsMeantIsTwoOrThree) {
  EXPECT_EQ(Load().config.promql_dialect, promql::Dialect::kPrometheus3);
  EXPECT_EQ(Load({"--promql-compat=2"}).config.promql_dialect, promql::Dialect::kPrometheus2);
  EXPECT_THAT(Load({"--promql-compat=1"}).faults, ElementsAre(HasSubstr("2 or 3")));
  EXPECT_EQ(Load({"--series-memory=128Mi"}).config.series_memory_bytes, 128u << 20);
}

TEST_F(LoadConfigTest, TenantsAreToldApartOnlyByTokensOfTheCluster) {
  const std::string tenants = "--tenant-queries";
  const std::string query = "--query-address=127.0.0.1:0";
  const std::string cluster = "--kubeconfig=/etc/kubeconfig";
  EXPECT_THAT(Load({tenants}).faults, IsEmpty());
  EXPECT_THAT(Load({tenants, query, cluster}).faults, IsEmpty());
  const std::vector<std::vector<std::string>> nameless = {
      {tenants, query},
      {tenants, query, cluster, "--query-bearer-token-file=/etc/token"},
      {tenants, query, cluster, "--insecure-no-auth"},
  };
  for (const auto& arguments : nameless) {
    EXPECT_THAT(Load(arguments).faults, ElementsAre(HasSubstr("callers have no namespace")));
  }
}

TEST_F(LoadConfigTest, DefaultsAreThoseOfTheGoProgram) {
  const LoadedConfig loaded = Load();
  ASSERT_THAT(loaded.faults, IsEmpty());
  const Config& c = loaded.config;
  EXPECT_EQ(c.grpc_port, 9000);
  EXPECT_EQ(c.secure_port, 6443);
  EXPECT_EQ(c.health_port, 18080);
  EXPECT_EQ(c.ttl, seconds(20));
  EXPECT_EQ(c.grpc_max_recv_msg_size_bytes, 32u << 20);
  EXPECT_EQ(c.log_summary_interval, seconds(30));
  EXPECT_EQ(c.shutdown_delay, seconds(5));
  EXPECT_THAT(c.inbound_stat_prefixes, ElementsAre("inbound_*"));
  EXPECT_THAT(c.outbound_stat_prefixes, ElementsAre("outbound_*"));
  EXPECT_EQ(c.absent_family, ingest::AbsentFamily::kKeep);
  EXPECT_FALSE(c.insecure_no_auth);
}

TEST_F(LoadConfigTest, FlagWinsOverEnvironmentOverFileOverDefault) {
  const std::string config = "--config=" + File("ttl: 7s\ngrpc-port: 7\nhealth-port: 7\n");
  environment_ = {{"METRIC_TTL", "8s"}, {"GRPC_PORT", "8"}};
  const LoadedConfig loaded = Load({config, "--ttl=9s"});
  ASSERT_THAT(loaded.faults, IsEmpty());
  EXPECT_EQ(loaded.config.ttl, seconds(9));
  EXPECT_EQ(loaded.config.grpc_port, 8);
  EXPECT_EQ(loaded.config.health_port, 7);
  EXPECT_EQ(loaded.config.secure_port, 6443);
}

TEST_F(LoadConfigTest, AnEmptyVariableIsNotSetAndTheFileMayComeFromOne) {
  environment_ = {{"METRIC_TTL", ""}, {"ACTIVESCALE_CONFIG", File("ttl: 7s")}};
  const LoadedConfig loaded = Load();
  ASSERT_THAT(loaded.faults, IsEmpty());
  EXPECT_EQ(loaded.config.ttl, seconds(7));
}

TEST_F(LoadConfigTest, AllFaultsAreToldTogetherWithWhereTheyCameFrom) {
  environment_ = {{"GRPC_PORT", "ninety"}};
  const std::string path = File("health-port: 70000\nno-such-key: 1\n");
  const LoadedConfig loaded =
      Load({"--ttl=soon", "--secure-port", "--no-such-flag=1", "--config=" + path});
  EXPECT_THAT(loaded.faults,
              ElementsAre(HasSubstr("--no-such-flag: unknown flag"),
                          HasSubstr("no-such-key in " + path + ": unknown setting"),
                          HasSubstr("GRPC_PORT (environment, for grpc-port): \"ninety\" is not a "
                                    "whole number from 0 to 65535"),
                          HasSubstr("--ttl: \"soon\" is not a duration"),
                          HasSubstr("--secure-port: \"\" is not a whole number"),
                          HasSubstr("health-port in " + path + ": \"70000\" is not")));
}

TEST_F(LoadConfigTest, EachKindOfValueIsChecked) {
  const char* bad[] = {
      "--ttl=5",
      "--ttl=-5s",
      "--ttl=1ms",
      "--ttl=25h",
      "--grpc-port=-1",
      "--grpc-port=65536",
      "--grpc-port=80 ",
      "--grpc-port=0x50",
      "--v=11",
      "--v=x",
      "--max-pods=0",
      "--grpc-max-recv-msg-size=32MB",
      "--grpc-max-recv-msg-size=-1",
      "--grpc-max-recv-msg-size=1Ti",
      "--bind-address=localhost",
      "--bind-address=1.2.3",
      "--keda-address=9091",
      "--keda-address=localhost:9091",
      "--keda-address=127.0.0.1:",
      "--keda-address=127.0.0.1:65536",
      "--insecure-no-auth=yes",
      "--absent-family=drop",
      "--redis-context={a}",
      "--redis-context=a}",
      "--config=/no/such/file",
      "--config=/",
  };
  for (const char* flag : bad) EXPECT_THAT(Load({flag}).faults, SizeIs(1)) << flag;
  const char* good[] = {
      "--ttl=100ms",
      "--ttl=24h",
      "--grpc-port=0",
      "--grpc-port=65535",
      "--v=10",
      "--bind-address=127.0.0.2",
      "--bind-address=::1",
      "--grpc-max-recv-msg-size=4194304",
      "--grpc-max-recv-msg-size=64Mi",
      "--log-metrics-summary-interval=0",
      "--absent-family=zero",
      "--redis-context=shop:eu/1",
      "--outbound-stat-prefixes=",
  };
  for (const char* flag : good) EXPECT_THAT(Load({flag}).faults, IsEmpty()) << flag;
}

TEST_F(LoadConfigTest, ListsAreReadFromFlagAndFile) {
  EXPECT_THAT(Load({"--inbound-stat-prefixes=a,,b,"}).config.inbound_stat_prefixes,
              ElementsAre("a", "b"));
  EXPECT_THAT(Load({"--inbound-stat-prefixes="}).config.inbound_stat_prefixes, IsEmpty());
  const std::string path = File("inbound-stat-prefixes: [ingress_*, edge]\n");
  EXPECT_THAT(Load({"--config=" + path}).config.inbound_stat_prefixes,
              ElementsAre("ingress_*", "edge"));
}

TEST_F(LoadConfigTest, SettingsThatDoNotFitTogetherAreFaults) {
  const struct {
    std::vector<std::string> arguments;
    std::string_view want;
  } cases[] = {
      {{"--tls-cert-file=a"}, "tls-cert-file is given without tls-private-key-file"},
      {{"--grpc-tls-private-key-file=a"}, "grpc-tls-private-key-file is given without"},
      {{"--grpc-tls-client-ca-file=a"}, "without grpc-tls-cert-file"},
      {{"--grpc-port=6443"}, "grpc-port and secure-port are both 6443"},
      {{"--bind-address=0.0.0.0"}, "--insecure-no-auth"},
      {{"--grpc-bind-address=::"}, "reachable from other machines"},
      {{"--health-bind-address=10.0.0.1"}, "health-bind-address 10.0.0.1"},
      {{"--keda-address=0.0.0.0:9091"}, "keda-tls-client-ca-file"},
      {{"--keda-address=127.0.0.1:9000"}, "grpc-port and the port of keda-address are both 9000"},
      {{"--dashboard-address=0.0.0.0:18081"}, "dashboard-address 0.0.0.0"},
      {{"--dashboard-address=127.0.0.1:18080"}, "health-port and the port of dashboard-address"},
      {{"--keda-tls-cert-file=a"}, "keda-tls-cert-file is given without"},
      {{"--keda-tls-client-ca-file=a"}, "without keda-tls-cert-file"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Load(c.arguments).faults, ElementsAre(HasSubstr(c.want))) << c.arguments[0];
  }
  EXPECT_THAT(Load({"--bind-address=0.0.0.0", "--insecure-no-auth"}).faults, IsEmpty());
  EXPECT_THAT(Load({"--dashboard-address=127.0.0.1:18081"}).faults, IsEmpty());
  EXPECT_THAT(Load({"--dashboard-address=[::]:18081", "--kubeconfig=a"}).faults, IsEmpty());
  EXPECT_THAT(Load({"--keda-address=[::]:9091", "--keda-insecure-no-auth"}).faults, IsEmpty());
  EXPECT_THAT(Load({"--keda-address=[::]:9091", "--keda-tls-cert-file=a",
                    "--keda-tls-private-key-file=b", "--keda-tls-client-ca-file=c"})
                  .faults,
              IsEmpty());
  EXPECT_THAT(Load({"--grpc-port=0", "--secure-port=0", "--health-port=0"}).faults, IsEmpty());
}

TEST_F(LoadConfigTest, PortsAreOnLoopbackUnlessTheRiskIsAccepted) {
  Config config;
  EXPECT_EQ(BindAddress(config, ""), "127.0.0.1");
  EXPECT_EQ(BindAddress(config, "::1"), "::1");
  config.insecure_no_auth = true;
  EXPECT_EQ(BindAddress(config, ""), "0.0.0.0");
  EXPECT_EQ(BindAddress(config, "127.0.0.1"), "127.0.0.1");
}

TEST_F(LoadConfigTest, FlagsWithoutEffectAreWarnedOf) {
  EXPECT_THAT(Load({"--logtostderr", "--tls-min-version=VersionTLS12"}).warnings,
              ElementsAre(HasSubstr("--logtostderr"), HasSubstr("--tls-min-version")));
}

TEST(ConfigFileTest, MustBeAMappingOfScalarsAndLists) {
  EXPECT_EQ(ParseConfigYaml("a: 1\nb: [x, 2]\nc:\nd: \"q: r\"\n").value(),
            (std::map<std::string, std::string, std::less<>>{
                {"a", "1"}, {"b", "x,2"}, {"c", ""}, {"d", "q: r"}}));
  EXPECT_TRUE(ParseConfigYaml("")->empty());
  const struct {
    std::string_view text;
    std::string_view want;
  } cases[] = {
      {"- a\n", "must be a mapping"},
      {"just text", "must be a mapping"},
      {"a: 1\nb:\n  c: 2\n", "line 3: the value of b"},
      {"a: [[1]]\n", "line 1: the value of a"},
      {"a: 1\na: 2\n", "line 2: a is given twice"},
      {"a: [1\nb: 2", "line"},
      {"a: *nope\n", "line 1"},
      {"[1]: 2\n", "line 1: a key must be"},
  };
  for (const auto& c : cases) {
    const auto got = ParseConfigYaml(c.text);
    ASSERT_FALSE(got) << c.text;
    EXPECT_THAT(got.error().message, HasSubstr(c.want)) << c.text;
  }
}

TEST(SettingsTest, NamesAndVariablesAreUniqueAndDefaultsAreLegal) {
  std::set<std::string_view> names;
  Config config;
  for (const Setting& setting : Settings()) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
    EXPECT_TRUE(names.insert(setting.env).second) << setting.env;
    EXPECT_TRUE(setting.assign(config, setting.initial)) << setting.name;
    EXPECT_TRUE(setting.help.ends_with('.')) << setting.name;
  }
  for (const IgnoredFlag& flag : IgnoredFlags()) {
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
  }
}

TEST(DocumentationTest, ConfigurationPageIsMadeFromTheTable) {
  std::ifstream file(ACTIVESCALE_DOCS "/configuration.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(page, ConfigurationMarkdown())
      << "write it anew: activescale docs configuration > docs/configuration.md";
}

}  // namespace
}  // namespace activescale::app
