#include "metric/labels.h"

#include <gtest/gtest.h>

namespace activescale::metric {
namespace {

TEST(LabelsTest, AreSortedAndTheLastValueOfARepeatedKeyWins) {
  const Labels labels({{"tier", "web"}, {"app", "a"}, {"app", "b"}, {"empty", ""}});
  EXPECT_EQ(labels, Labels({{"app", "b"}, {"empty", ""}, {"tier", "web"}}));
  EXPECT_EQ(labels.entries().front().first, "app");
}

TEST(LabelsTest, AbsentIsNotEmpty) {
  const Labels labels({{"app", "shop"}, {"empty", ""}});
  EXPECT_EQ(labels.Get("app"), "shop");
  EXPECT_EQ(labels.Get("empty"), "");
  EXPECT_EQ(labels.Get("ap"), std::nullopt);
  EXPECT_EQ(labels.Get("zone"), std::nullopt);
  EXPECT_TRUE(Labels().empty());
}

}  // namespace
}  // namespace activescale::metric
