#include "telemetry/process_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace activescale::telemetry {
namespace {

using ::testing::HasSubstr;

constexpr KernelUnits kUnits{
    .ticks_per_second = 100, .page_bytes = 4096, .boot_time_seconds = 1'000'000};

TEST(ProcessMetricsTest, StatIsReadBehindANameWithSpacesAndBrackets) {
  const auto status = ParseProcStat(
      "42 (a) b (c) S 1 42 42 0 -1 4194560 2048 0 0 0 150 50 0 0 20 0 7 0 12300 8192000 500 "
      "18446744073709551615 1 1 0\n",
      kUnits);
  ASSERT_TRUE(status);
  EXPECT_DOUBLE_EQ(status->cpu_seconds, 2);
  EXPECT_DOUBLE_EQ(status->threads, 7);
  EXPECT_DOUBLE_EQ(status->start_time_seconds, 1'000'123);
  EXPECT_DOUBLE_EQ(status->virtual_bytes, 8'192'000);
  EXPECT_DOUBLE_EQ(status->resident_bytes, 500 * 4096);
}

TEST(ProcessMetricsTest, StatWithTooFewFieldsIsNotRead) {
  for (const char* text : {"", "42", "42 (a", "42 (a)", "42 (a) S 1 42 42 0 -1"}) {
    EXPECT_FALSE(ParseProcStat(text, kUnits)) << text;
  }
}

double ValueOf(const std::string& text, const std::string& name) {
  const size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
}

TEST(ProcessMetricsTest, ThisProcessIsShownAndItsTimeGrows) {
  Registry registry;
  const ProcessMetrics metrics(registry, "1.2.3");
  const std::string text = registry.Render();
  EXPECT_THAT(text, HasSubstr("activescale_build_info{version=\"1.2.3\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE process_cpu_seconds_total counter\n"));
  EXPECT_GT(ValueOf(text, "process_resident_memory_bytes"), 1e6);
  EXPECT_GT(ValueOf(text, "process_virtual_memory_bytes"),
            ValueOf(text, "process_resident_memory_bytes"));
  EXPECT_GE(ValueOf(text, "process_threads"), 1);
  EXPECT_GE(ValueOf(text, "process_open_fds"), 3);
  EXPECT_GT(ValueOf(text, "process_max_fds"), 3);
  EXPECT_GT(ValueOf(text, "process_start_time_seconds"), 1.5e9);
  const double before = ValueOf(text, "process_cpu_seconds_total");
  double after = before;
  // Ends as soon as the kernel has counted a tick of this loop's own work.
  while (after <= before) after = ValueOf(registry.Render(), "process_cpu_seconds_total");
  EXPECT_GT(after, before);
}

}  // namespace
}  // namespace activescale::telemetry
