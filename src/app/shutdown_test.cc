#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <future>

#include "app/signals.h"
#include "app/watchdog.h"
#include "base/testing/fake_clock.h"

namespace activescale::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kDeadline = seconds(10);

TEST(WatchdogTest, TellsTheStageThatHangs) {
  base::FakeClock clock;
  base::ShutdownStages stages(clock);
  std::promise<std::string> told;
  auto stage = told.get_future();
  stages.Add("quick", seconds(1), [] {});
  stages.Add("stuck", seconds(2), [&] {
    clock.Advance(seconds(3));
    ASSERT_EQ(stage.wait_for(kDeadline), std::future_status::ready);
  });
  const Watchdog watchdog(stages, milliseconds(1),
                          [&told](const std::string& name) { told.set_value(name); });
  stages.Run();
  EXPECT_EQ(stage.get(), "stuck");
}

TEST(WatchdogTest, IsSilentAndEndsWhenAllGoesWell) {
  base::FakeClock clock;
  base::ShutdownStages stages(clock);
  stages.Add("quick", seconds(1), [&clock] { clock.Advance(seconds(1)); });
  {
    const Watchdog watchdog(stages, std::chrono::hours(1),
                            [](const std::string& name) { ADD_FAILURE() << name; });
    stages.Run();
  }  // must not wait for the interval
}

TEST(TerminationSignalTest, IsWaitedForAndNotLost) {
  TerminationSignal signal;
  kill(getpid(), SIGTERM);
  EXPECT_EQ(signal.Wait(), SIGTERM);
}

TEST(TerminationSignalDeathTest, TheSecondOneKillsAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        TerminationSignal signal;
        kill(getpid(), SIGTERM);
        signal.Wait();
        kill(getpid(), SIGINT);
        pause();
      },
      ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace activescale::app
