#include "app/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/settings.h"

namespace activescale::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(CommandLineTest, FlagsAreReadAsGoReadsThem) {
  const struct {
    std::vector<std::string> arguments;
    std::pair<std::string, std::string> want;
  } cases[] = {
      {{"--ttl=5s"}, {"ttl", "5s"}},
      {{"--ttl", "5s"}, {"ttl", "5s"}},
      {{"-ttl=5s"}, {"ttl", "5s"}},
      {{"-ttl", "5s"}, {"ttl", "5s"}},
      {{"--v=4"}, {"v", "4"}},
      {{"-v=4"}, {"v", "4"}},
      {{"-v", "4"}, {"v", "4"}},
      {{"--ttl=5s", "--ttl=6s"}, {"ttl", "6s"}},
      {{"--cluster-id=a=b"}, {"cluster-id", "a=b"}},
      {{"--insecure-no-auth"}, {"insecure-no-auth", "true"}},
      {{"--insecure-no-auth=false"}, {"insecure-no-auth", "false"}},
      {{"--inbound-stat-prefixes=a,b"}, {"inbound-stat-prefixes", "a,b"}},
      {{"--inbound-stat-prefixes", "a", "--inbound-stat-prefixes=b"},
       {"inbound-stat-prefixes", "a,b"}},
      {{"--outbound-stat-prefixes="}, {"outbound-stat-prefixes", ""}},
      {{"--ttl"}, {"ttl", ""}},
      {{"--ttl="}, {"ttl", ""}},
  };
  for (const auto& c : cases) {
    const CommandLine line = ParseCommandLine(c.arguments);
    EXPECT_THAT(line.faults, IsEmpty()) << c.arguments[0];
    EXPECT_THAT(line.values, ElementsAre(Pair(c.want.first, c.want.second))) << c.arguments[0];
  }
}

TEST(CommandLineTest, UnknownFlagsAndStrayWordsAreAllTold) {
  const CommandLine line = ParseCommandLine({"--insecure-no-auth", "no", "--no-such=1", "--ttl=5s",
                                             "--nor-this", "value", "stray", "-x"});
  EXPECT_THAT(line.faults, ElementsAre("no: unexpected argument", "--no-such: unknown flag",
                                       "--nor-this: unknown flag", "stray: unexpected argument",
                                       "--x: unknown flag"));
  EXPECT_THAT(line.values, ::testing::Contains(Pair("ttl", "5s"))) << "the rest is still read";
}

TEST(CommandLineTest, FlagsOfOtherProgramsAreAccepted) {
  const CommandLine line =
      ParseCommandLine({"--logtostderr", "--audit-log-maxage", "1", "-tls-min-version=VersionTLS12",
                        "--stderrthreshold=INFO", "--profiling=false", "--ttl=5s"});
  EXPECT_THAT(line.faults, IsEmpty());
  EXPECT_THAT(line.ignored_flags, ElementsAre("audit-log-maxage", "logtostderr", "profiling",
                                              "stderrthreshold", "tls-min-version"));
  EXPECT_EQ(line.values.size(), 1u);
}

TEST(CommandLineTest, HelpNamesEverySettingItsVariableAndDefault) {
  EXPECT_TRUE(ParseCommandLine({"--help"}).help);
  EXPECT_TRUE(ParseCommandLine({"-h"}).help);
  EXPECT_FALSE(ParseCommandLine({}).help);
  const std::string help = HelpText(ServeUsage());
  for (const Setting& setting : Settings()) {
    // A long name stands on a line of its own.
    EXPECT_THAT(help, ::testing::ContainsRegex("--" + std::string(setting.name) + "[ \n]"));
    EXPECT_THAT(help, HasSubstr("$" + std::string(setting.env)));
    EXPECT_THAT(help, HasSubstr(std::string(setting.group) + ":"));
  }
  EXPECT_THAT(help, ::testing::Not(HasSubstr("audit-log"))) << "what has no effect is not offered";
}

}  // namespace
}  // namespace activescale::app
