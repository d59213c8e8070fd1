#include "kube/object_numbers.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace activescale::kube {
namespace {

TEST(ObjectNumbersTest, KeepsTheNumbersOfEachObjectAndWhatAbsentOnesMean) {
  ObjectNumbers numbers({{"spec.minReplicas", 1}, {"status.desired", std::nullopt}});
  const auto take = [&numbers](const char* text) {
    numbers.Upsert(boost::json::parse(text).as_object());
  };
  take(
      R"({"metadata":{"namespace":"b","name":"x"},"spec":{"minReplicas":3},"status":{"desired":4}})");
  take(R"({"metadata":{"namespace":"a","name":"y"},"spec":{},"status":{"desired":"four"}})");
  take(R"({"metadata":{"namespace":"c","name":"z"},"spec":7})");
  numbers.Remove("c", "z");
  const auto objects = numbers.List();
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[0].ns, "a");
  EXPECT_EQ(objects[0].numbers, (ObjectNumbers::Numbers{1, std::nullopt}));
  EXPECT_EQ(objects[1].name, "x");
  EXPECT_EQ(objects[1].numbers, (ObjectNumbers::Numbers{3, 4}));
}

}  // namespace
}  // namespace activescale::kube
