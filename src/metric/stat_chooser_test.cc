#include "metric/stat_chooser.h"

#include <gtest/gtest.h>

namespace activescale::metric {
namespace {

std::string Text(const StatChooser& chooser, std::string_view name,
                 std::vector<LabelView> labels = {}) {
  const auto series = chooser.SeriesOf(name, labels);
  EXPECT_EQ(chooser.Chooses(name), series.has_value()) << name;
  if (!series) return "";
  std::string text = series->name;
  for (const auto& [label, value] : series->labels) text += " " + label + "=" + value;
  return text;
}

TEST(StatChooserTest, NamesSeriesAsEnvoysOwnPageDoes) {
  struct Case {
    std::string pattern;
    std::string name;
    std::vector<LabelView> labels;
    std::string want;
  };
  const Case cases[] = {
      {R"(cluster\.upstream_rq_active)",
       "cluster.upstream_rq_active",
       {{"envoy.cluster_name", "web"}},
       "envoy_cluster_upstream_rq_active envoy_cluster_name=web"},
      {R"(cluster\.(?P<upstream>.+)\.upstream_rq_(active|pending_active))",
       "cluster.web.shop.upstream_rq_pending_active",
       {},
       "envoy_cluster_upstream_rq_pending_active upstream=web.shop"},
      {R"(cluster\..*\.upstream_rq_active)",
       "cluster.a-b.upstream_rq_active",
       {},
       "envoy_cluster_a_b_upstream_rq_active"},
      {R"((?P<a>[^.]+)\.(?P<b>[^.]+)\.x)", "one.two.x", {}, "envoy__x a=one b=two"},
      {R"((?P<a>b(?P<c>c)d)\.x)", "bcd.x", {}, "envoy__x a=bcd c=c"},
      {R"(cluster\.(?P<upstream>.+)?\.x)", "cluster..x", {}, "envoy_cluster__x"},
      {"upstream", "cluster.upstream", {}, ""},  // the whole name must match
      {"a", "b", {}, ""},
  };
  for (const Case& c : cases) {
    const auto chooser = StatChooser::Make({c.pattern});
    ASSERT_TRUE(chooser) << c.pattern;
    EXPECT_EQ(Text(*chooser, c.name, c.labels), c.want) << c.pattern;
  }
}

TEST(StatChooserTest, TheFirstPatternThatMatchesNamesIt) {
  const auto chooser = StatChooser::Make({"a.*", "(?P<all>.*)"});
  ASSERT_TRUE(chooser);
  EXPECT_EQ(Text(*chooser, "ab"), "envoy_ab");
  EXPECT_EQ(Text(*chooser, "cb"), "envoy_ all=cb");
}

TEST(StatChooserTest, SaysWhatIsWrongWithAPattern) {
  for (const char* pattern : {"a(", "(?P<__name__>x)", "\\1", "(a{1000}){1000}"}) {
    const auto chooser = StatChooser::Make({pattern});
    ASSERT_FALSE(chooser) << pattern;
    EXPECT_NE(chooser.error().message.find(pattern), std::string::npos) << chooser.error().message;
  }
  EXPECT_FALSE(StatChooser::Make({})->Chooses("anything"));
}

}  // namespace
}  // namespace activescale::metric
