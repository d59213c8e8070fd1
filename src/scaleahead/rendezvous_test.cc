#include "scaleahead/rendezvous.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace activescale::scaleahead {
namespace {

std::string KeyOf(int i) { return "shop/web-" + std::to_string(i); }

TEST(RendezvousTest, EverybodyChoosesTheSameWhateverTheOrder) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(Winner({"a", "b", "c"}, KeyOf(i)), Winner({"c", "a", "b"}, KeyOf(i)));
  }
}

TEST(RendezvousTest, KeysAreSharedOut) {
  std::map<std::string, int> keys;
  for (int i = 0; i < 3'000; ++i) {
    ++keys[std::string(Winner({"activescale-0", "activescale-1", "activescale-2"}, KeyOf(i)))];
  }
  for (const auto& [member, count] : keys) {
    EXPECT_GT(count, 900) << member;
    EXPECT_LT(count, 1'100) << member;
  }
}

TEST(RendezvousTest, OnlyKeysOfTheOneThatWentMove) {
  for (int i = 0; i < 300; ++i) {
    const std::string before(Winner({"a", "b", "c"}, KeyOf(i)));
    if (before == "b") continue;
    EXPECT_EQ(Winner({"a", "c"}, KeyOf(i)), before);
  }
}

TEST(RendezvousTest, NobodyIsChosenOfNobody) { EXPECT_EQ(Winner({}, "shop/web"), ""); }

// Replicas of two versions run side by side: the choice must not change with a version.
TEST(RendezvousTest, TheChoiceIsPinned) {
  std::string chosen;
  for (int i = 0; i < 16; ++i) chosen += Winner({"a", "b", "c"}, KeyOf(i));
  EXPECT_EQ(chosen, "bbbbacccabbccacb");
}

}  // namespace
}  // namespace activescale::scaleahead
