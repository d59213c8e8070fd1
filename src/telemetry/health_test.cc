#include "telemetry/health.h"

#include <gtest/gtest.h>

namespace activescale::telemetry {
namespace {

TEST(HealthChecksTest, ReadyOnlyIfEveryCheckIsOk) {
  HealthChecks checks;
  EXPECT_TRUE(HealthChecks::AllOk(checks.Run())) << "nothing to wait for";
  bool store_ok = false;
  checks.Add("store", [&store_ok] { return CheckResult{store_ok, "redis 3s idle"}; });
  checks.Add("shutdown", [] { return CheckResult{true, ""}; });
  EXPECT_FALSE(HealthChecks::AllOk(checks.Run()));
  store_ok = true;
  EXPECT_TRUE(HealthChecks::AllOk(checks.Run()));
}

TEST(HealthChecksTest, TextIsThatOfKubernetesComponentsInTheOrderAdded) {
  HealthChecks checks;
  checks.Add("store", [] { return CheckResult{false, "no answer for 3s"}; });
  checks.Add("pods", [] { return CheckResult{true, "12 pods"}; });
  checks.Add("shutdown", [] { return CheckResult{true, ""}; });
  EXPECT_EQ(HealthChecks::Describe(checks.Run()),
            "[-]store failed: no answer for 3s\n"
            "[+]pods ok: 12 pods\n"
            "[+]shutdown ok\n"
            "readyz check failed\n");
  EXPECT_EQ(HealthChecks::Describe({}), "readyz check passed\n");
}

TEST(HealthChecksTest, ACheckMayAddAnotherWithoutADeadlock) {
  HealthChecks checks;
  checks.Add("first", [&checks] {
    checks.Add("second", [] { return CheckResult{true, ""}; });
    return CheckResult{true, ""};
  });
  EXPECT_EQ(checks.Run().size(), 1u);
  EXPECT_EQ(checks.Run().size(), 2u);
}

}  // namespace
}  // namespace activescale::telemetry
