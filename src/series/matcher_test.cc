#include "series/matcher.h"

#include <gtest/gtest.h>

#include <string>

namespace activescale::series {
namespace {

using Op = Matcher::Op;

TEST(MatcherTest, MatchesWholeValues) {
  const struct {
    Op op;
    std::string pattern;
    std::string value;
    bool want;
  } cases[] = {
      {Op::kEqual, "a", "a", true},      {Op::kEqual, "a", "ab", false},
      {Op::kEqual, "", "", true},        {Op::kNotEqual, "a", "b", true},
      {Op::kNotEqual, "a", "a", false},  {Op::kMatch, "a.*", "abc", true},
      {Op::kMatch, "a", "ab", false},    {Op::kMatch, "b", "ab", false},
      {Op::kMatch, "a|b", "b", true},    {Op::kMatch, "a|b", "ab", false},
      {Op::kMatch, "a.b", "a\nb", true}, {Op::kMatch, "", "", true},
      {Op::kNotMatch, "a.*", "b", true}, {Op::kNotMatch, "a.*", "ab", false},
      {Op::kMatch, "(?i)A", "a", true},
  };
  for (const auto& c : cases) {
    const auto matcher = Matcher::Make(c.op, "x", c.pattern);
    ASSERT_TRUE(matcher) << c.pattern;
    EXPECT_EQ(matcher->Matches(c.value), c.want) << matcher->ToString() << " on " << c.value;
  }
}

TEST(MatcherTest, AnAbsentLabelIsEmpty) {
  const metric::Labels labels(std::vector<metric::Labels::Entry>{{"a", "1"}});
  EXPECT_TRUE(Matcher::Make(Op::kEqual, "b", "")->MatchesLabels(labels));
  EXPECT_TRUE(Matcher::Make(Op::kNotEqual, "b", "1")->MatchesLabels(labels));
  EXPECT_FALSE(Matcher::Make(Op::kMatch, "b", ".+")->MatchesLabels(labels));
}

TEST(MatcherTest, HostileExpressionsAreRefusedOrLinear) {
  EXPECT_FALSE(Matcher::Make(Op::kMatch, "x", "a(b"));
  EXPECT_FALSE(Matcher::Make(Op::kMatch, "x", "(a{1000}){1000}"));
  EXPECT_FALSE(Matcher::Make(Op::kMatch, "x", R"(a(?=b))"));
  const auto doubling = Matcher::Make(Op::kMatch, "x", "(a|a)*(a|a)*(a|a)*b");
  ASSERT_TRUE(doubling);
  EXPECT_FALSE(doubling->Matches(std::string(100'000, 'a')));
}

}  // namespace
}  // namespace activescale::series
