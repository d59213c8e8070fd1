#include "promql/parser.h"

#include <gtest/gtest.h>

#include <string>

namespace activescale::promql {
namespace {

std::string ErrorOf(const std::string& query, Dialect dialect = Dialect::kPrometheus3) {
  const auto expr = Parse(query, dialect);
  return expr ? "" : expr.error().message;
}

TEST(ParserTest, NamesTheFaultAndItsPlace) {
  const struct {
    std::string query;
    std::string want;
  } cases[] = {
      {"", "1:1: parse error: no expression found in input"},
      {"sum(", "1:5: parse error: unclosed left parenthesis"},
      {"sum(a))", "1:7: parse error: unexpected right parenthesis"},
      {"a +\n b c", "2:4: parse error: unexpected 'c'"},
      {"a{b}", "1:4: parse error: unexpected '}', expected label matching operator"},
      {"rate(a)",
       "1:6: parse error: expected type range vector in call to function \"rate\", got "
       "instant vector"},
      {"1 + nofunction(1)", "1:5: parse error: unknown function with name 'nofunction'"},
      {"1 + limitk(1, a)", "1:5: parse error: 'limitk' is not supported"},
      {"1 + limitk by (b) (1, a)", "1:5: parse error: 'limitk' is not supported"},
      {"histogram_avg(a)", "1:1: parse error: 'histogram_avg' is not supported"},
      {"a[(5m)]", "1:3: parse error: arithmetic in durations is not supported"},
      {"a[0]", "1:2: parse error: duration must be greater than 0"},
      {"1 > 2", "1:3: parse error: comparisons between scalars must use BOOL modifier"},
      {"{}", "1:1: parse error: vector selector must contain at least one non-empty matcher"},
      {"sum()", "1:1: parse error: no arguments for aggregate expression provided"},
      {"abs(a, b)", "1:1: parse error: expected 1 argument(s) in call to \"abs\", got 2"},
      {"'\\q'", "1:1: parse error: unknown or broken escape sequence in a string"},
  };
  for (const auto& c : cases) EXPECT_EQ(ErrorOf(c.query), c.want) << c.query;
}

TEST(ParserTest, DeepQueriesAreRefused) {
  constexpr int kDepth = 10'000;
  const std::string open(kDepth, '(');
  const std::string close(kDepth, ')');
  std::string chain = "1";
  std::string signs;
  std::string calls;
  std::string nested = "a";
  for (int i = 0; i < kDepth; ++i) {
    chain += "+1";
    signs += "-";
    calls += "abs(";
    nested += "[5m:1m] offset 1m";
  }
  for (const std::string& query : {open + "1" + close, chain, signs + "a", calls + "a" + close,
                                   "1" + std::string(kDepth, '^') + "2", open, nested}) {
    EXPECT_NE(ErrorOf(query), "") << query.substr(0, 20);
  }
  EXPECT_NE(ErrorOf(chain).find("nested too deeply"), std::string::npos);
}

TEST(ParserTest, LongButFlatQueriesAreRead) {
  std::string args = "label_join(a, \"b\", \"-\"";
  std::string matchers = "a{x=\"1\"";
  for (int i = 0; i < 10'000; ++i) {
    args += ", \"c\"";
    matchers += ",x=\"1\"";
  }
  EXPECT_EQ(ErrorOf(args + ")"), "");
  EXPECT_EQ(ErrorOf(matchers + "}"), "");
}

TEST(ParserTest, Prometheus2HasFewerForms) {
  for (const std::string query : {"a[5]", "1h", "a offset 5", "{\"a\"}", "1_000", "a[-5m]"}) {
    EXPECT_NE(ErrorOf(query, Dialect::kPrometheus2), "") << query;
  }
  for (const std::string query : {"a[5m]", "0x1f", "a offset -5m", "{__name__=\"a\"}"}) {
    EXPECT_EQ(ErrorOf(query, Dialect::kPrometheus2), "") << query;
  }
}

TEST(ParserTest, NodesKnowTheirPlaceAndType) {
  const auto expr = Parse("  sum by (b) (rate(a[5m]))");
  ASSERT_TRUE(expr);
  EXPECT_EQ((*expr)->position.start, 2U);
  EXPECT_EQ((*expr)->position.end, 26U);
  EXPECT_EQ((*expr)->type, ValueType::kVector);
  const auto& aggregate = std::get<Aggregate>((*expr)->node);
  EXPECT_EQ(aggregate.grouping, std::vector<std::string>{"b"});
  EXPECT_EQ(aggregate.expr->position.start, 14U);
  EXPECT_EQ(aggregate.expr->depth, 2U);
}

}  // namespace
}  // namespace activescale::promql
