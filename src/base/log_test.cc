#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace activescale::base {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::string LineOf(std::string_view message, Severity severity = Severity::kInfo) {
  testing::internal::CaptureStderr();
  Log(severity, "/src/ingest/stream.cc", 42, message);
  return testing::internal::GetCapturedStderr();
}

TEST(LogTest, LineHasKlogsForm) {
  const std::string line = LineOf("hello {} 100%");
  EXPECT_THAT(line, MatchesRegex("I[01][0-9][0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]+ +"
                                 "[0-9]+ stream\\.cc:42\\] hello \\{\\} 100%\n"));
  EXPECT_EQ(line.find('.') + 7, line.find(' ', line.find('.'))) << "six digits of microseconds";
  EXPECT_THAT(line, HasSubstr(fmt::format(" {:>7} stream.cc", getpid())));
}

TEST(LogTest, SeverityIsTheFirstLetter) {
  EXPECT_EQ(LineOf("x", Severity::kWarning)[0], 'W');
  EXPECT_EQ(LineOf("x", Severity::kError)[0], 'E');
}

TEST(LogTest, InputCannotForgeALine) {
  const struct {
    std::string_view message;
    std::string_view want;
  } cases[] = {
      {"pod a\nE0101 00:00:00.000000 1 x.cc:1] fire", "] pod a\\nE0101"},
      {"a\r\tb", "] a\\r\\tb\n"},
      {"\x1b[2Jgone\x7f", "] \\x1b[2Jgone\\x7f\n"},
      {"\xc2\x9b"
       "31mred",
       "] \\u009b31mred\n"},
      {std::string_view("a\0b", 3), "] a\\x00b\n"},
      {"caf\xc3\xa9 \xed\x95\x9c", "] caf\xc3\xa9 \xed\x95\x9c\n"},
      {"cut \xc2", "] cut \xc2\n"},
  };
  for (const auto& c : cases) {
    const std::string line = LineOf(c.message);
    EXPECT_THAT(line, HasSubstr(c.want));
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  }
}

TEST(LogTest, DebugLineIsNotEvaluatedWhenOff) {
  int evaluated = 0;
  auto argument = [&evaluated] { return ++evaluated; };
  testing::internal::CaptureStderr();
  SetVerbosity(3);
  VLOG(4, "off {}", argument());
  SetVerbosity(4);
  VLOG(4, "on {}", argument());
  SetVerbosity(0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("log_test.cc"));
  EXPECT_EQ(evaluated, 1);
}

}  // namespace
}  // namespace activescale::base
