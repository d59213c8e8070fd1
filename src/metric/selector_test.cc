#include "metric/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metric/testing/vectors.h"

namespace activescale::metric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SelectorTest, ParsesWhatKubernetesParsesToTheSameRequirements) {
  const auto vectors = testing::ReadVectors("selectors.tsv");
  ASSERT_GT(vectors.size(), 1000u);
  for (const auto& vector : vectors) {
    const auto got = Selector::Parse(vector.input);
    const std::string want = vector.want == "!unsupported" ? "!error" : vector.want;
    ASSERT_EQ(got ? got->ToString() : "!error", want)
        << '"' << vector.input << "\" " << (got ? "" : got.error().message);
  }
}

TEST(SelectorTest, CanonicalTextReadsBackToAnEqualSelector) {
  for (const auto& vector : testing::ReadVectors("selectors.tsv")) {
    if (vector.want == "!error" || vector.want == "!unsupported") continue;
    const auto once = Selector::Parse(vector.want);
    ASSERT_TRUE(once) << vector.want;
    EXPECT_EQ(once->ToString(), vector.want);
  }
}

TEST(SelectorTest, RequirementsAreSortedAndValuesToo) {
  const auto selector = Selector::Parse("tier in (b,a),!canary,app==x,env!=dev,track");
  ASSERT_TRUE(selector);
  using Op = Requirement::Op;
  EXPECT_THAT(
      selector->requirements(),
      ElementsAre(Requirement{"app", Op::kIn, {"x"}}, Requirement{"canary", Op::kDoesNotExist, {}},
                  Requirement{"env", Op::kNotIn, {"dev"}}, Requirement{"tier", Op::kIn, {"a", "b"}},
                  Requirement{"track", Op::kExists, {}}));
}

TEST(SelectorTest, MatchesAsKubernetesDoes) {
  const Labels labels({{"app", "shop"}, {"tier", "web"}, {"empty", ""}});
  const struct {
    std::string_view selector;
    bool want;
  } cases[] = {
      {"", true},
      {"app=shop", true},
      {"app=other", false},
      {"zone=a", false},
      {"zone=", false},
      {"empty=", true},
      {"app=", false},
      {"app in (x,shop)", true},
      {"app in (x,y)", false},
      {"zone in (,a)", false},
      {"app!=other", true},
      {"app!=shop", false},
      {"zone!=a", true},
      {"zone notin (a,b)", true},
      {"app notin (shop)", false},
      {"app", true},
      {"zone", false},
      {"!zone", true},
      {"!app", false},
      {"empty", true},
      {"app=shop,tier=web", true},
      {"app=shop,tier=db", false},
      {"app=shop,app!=shop", false},
  };
  for (const auto& c : cases) {
    const auto selector = Selector::Parse(c.selector);
    ASSERT_TRUE(selector) << c.selector;
    EXPECT_EQ(selector->Matches(labels), c.want) << c.selector;
    EXPECT_EQ(selector->empty(), c.selector.empty());
  }
}

TEST(SelectorTest, RefusalNamesTheOffendingTerm) {
  const struct {
    std::string_view selector;
    std::string_view want;
  } cases[] = {
      {"app=shop,", "found the end, expected a key or '!'"},
      {"app shop", "found 'shop' after 'app', expected one of"},
      {"app in shop", "found 'shop', expected '('"},
      {"app in (a", "found the end, expected ',' or ')'"},
      {"replicas>3", "'replicas >': comparing label values by size is not supported"},
      {"-app=x", "'-app' is not a legal label key"},
      {"A.B/c=x", "the part before '/' must be a lower-case DNS name"},
      {"app=a/b", "'a/b' is not a legal value of label 'app'"},
      {"listener=0.0.0.0:80", "'0.0.0.0:80' is not a legal value"},
  };
  for (const auto& c : cases) {
    const auto got = Selector::Parse(c.selector);
    ASSERT_FALSE(got) << c.selector;
    EXPECT_EQ(got.error().code, base::Code::kInvalidArgument);
    EXPECT_THAT(got.error().message, HasSubstr(c.want));
    EXPECT_THAT(got.error().message, HasSubstr(c.selector));
  }
}

}  // namespace
}  // namespace activescale::metric
