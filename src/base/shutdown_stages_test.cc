#include "base/shutdown_stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/fake_clock.h"

namespace activescale::base {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ShutdownStagesTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  ShutdownStages stages_{clock_};
  std::vector<std::string> ran_;
};

TEST_F(ShutdownStagesTest, RunInTheOrderAddedAndAreTold) {
  for (const char* name : {"delay", "close the ports", "join"}) {
    stages_.Add(name, seconds(1), [this, name] { ran_.emplace_back(name); });
  }
  ::testing::internal::CaptureStderr();
  stages_.Run();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(ran_, ElementsAre("delay", "close the ports", "join"));
  EXPECT_THAT(log, HasSubstr("shutdown: close the ports\n"));
  EXPECT_THAT(log, HasSubstr("shutdown: close the ports done after 0s\n"));
}

TEST_F(ShutdownStagesTest, TheStageThatHangsIsNamedAndOnlyWhileItHangs) {
  std::vector<std::string> seen;
  const auto look = [&] { seen.push_back(stages_.Overdue().value_or("-")); };
  stages_.Add("quick", seconds(5), [&] {
    clock_.Advance(seconds(5));
    look();
  });
  stages_.Add("stuck", seconds(2), [&] {
    look();
    clock_.Advance(seconds(2));
    look();
    clock_.Advance(std::chrono::milliseconds(1));
    look();
  });
  stages_.Add("after", seconds(1), look);
  look();
  stages_.Run();
  clock_.Advance(seconds(100));
  look();
  EXPECT_THAT(seen, ElementsAre("-", "-", "-", "-", "stuck", "-", "-"));
}

}  // namespace
}  // namespace activescale::base
