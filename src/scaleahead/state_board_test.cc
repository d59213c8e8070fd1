#include "scaleahead/state_board.h"

#include <gtest/gtest.h>

#include "scaleahead/testing/objects.h"

namespace activescale::scaleahead {
namespace {

bool Has(const std::string& text, const std::string& line) {
  return text.find(line) != std::string::npos;
}

TEST(StateBoardTest, AnHpaThatIsGoneLeavesNothingBehind) {
  telemetry::Registry registry;
  StateBoard board(registry);
  const kube::HpaObject hpa = WebHpa();
  EXPECT_EQ(board.Of("shop", "web"), State::kOff);
  board.Set(hpa, State::kOn);
  board.Set(hpa, State::kBroken);
  EXPECT_EQ(StateName(board.Of("shop", "web")), "broken");
  EXPECT_TRUE(Has(registry.Render(),
                  "activescale_scale_ahead_state{hpa=\"web\",namespace=\"shop\","
                  "workload=\"Deployment/web\"} 3\n"));
  board.Remove("shop", "other");
  board.Remove("shop", "web");
  EXPECT_EQ(board.Of("shop", "web"), State::kOff);
  EXPECT_FALSE(Has(registry.Render(), "workload=\"Deployment/web\""));
  board.Set(hpa, State::kObserve);
  EXPECT_TRUE(Has(registry.Render(), "workload=\"Deployment/web\"} 1\n"));
}

}  // namespace
}  // namespace activescale::scaleahead
