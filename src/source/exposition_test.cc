#include "source/exposition.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

namespace activescale::source {
namespace {

constexpr auto kText = ExpositionFormat::kPrometheusText;
constexpr auto kOpen = ExpositionFormat::kOpenMetrics;

/// All samples as `name{label=value,} value@time`, or the fault and its message.
std::string Read(const std::string& text, ExpositionFormat format) {
  // A copy of its exact size, so that reading beyond it is found.
  const std::vector<char> bytes(text.begin(), text.end());
  ExpositionParser parser({bytes.data(), bytes.size()}, format);
  ExposedSample sample;
  std::string all;
  while (true) {
    const auto more = parser.Next(sample);
    if (!more)
      return std::string(ExpositionFaultName(more.error().fault)) + ": " + more.error().message;
    if (!*more) return all;
    all += Unescape(sample.name) + "{";
    for (const auto& [name, value] : sample.labels) {
      all += Unescape(name) + "=" + Unescape(value) + ",";
    }
    all += "} " + std::to_string(sample.value);
    if (sample.time_ms) all += "@" + std::to_string(*sample.time_ms);
    all += "\n";
  }
}

TEST(ExpositionTest, ReadsWhatPrometheusReads) {
  const struct {
    ExpositionFormat format;
    std::string text;
    std::string want;
  } cases[] = {
      {kText, "", ""},
      {kText, "a 1", "a{} 1.000000\n"},
      {kText, "a 1\n\n  \t\n# anything\n#\nb 2\n", "a{} 1.000000\nb{} 2.000000\n"},
      {kText, "# HELP a Some \\n help\n# TYPE a   gauge \na 1\n", "a{} 1.000000\n"},
      {kText, " a{} -1.5e3 1700000000000 \n", "a{} -1500.000000@1700000000000\n"},
      {kText, "a { b = \"c\" , d=\"e\",}\t+Inf -5", "a{b=c,d=e,} inf@-5\n"},
      {kText, "a{b=\"c\"}1", "a{b=c,} 1.000000\n"},
      {kText, "a{b=\"\\\"\\\\\\n\\x\"} NaN", "a{b=\"\\\n\\x,} nan\n"},
      {kText, "a{b=\"{,}= #\"} 0x", "value: line 1: no number at \"0x\""},
      {kText, "{\"my.metric\",\"my.label\"=\"x\"} 1", "my.metric{my.label=x,} 1.000000\n"},
      {kText, "a:b:c_9{_x=\"\xC3\xA9\"} 1e-999", "a:b:c_9{_x=\xC3\xA9,} 0.000000\n"},
      {kOpen, "# EOF", ""},
      {kOpen, "# TYPE a counter\n# UNIT a seconds\n# HELP a b\na_total 1\n# EOF\n",
       "a_total{} 1.000000\n"},
      {kOpen, "a 1 1700000000.25\n# EOF\n", "a{} 1.000000@1700000000250\n"},
      {kOpen, "a_bucket{le=\"+Inf\"} 3 5 # {id=\"x\"} 0.5 1.5\n# EOF\n",
       "a_bucket{le=+Inf,} 3.000000@5000\n"},
      {kOpen, "a_total 3 # {} 0.5\n# EOF\n", "a_total{} 3.000000\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(Read(c.text, c.format), c.want) << c.text;
}

TEST(ExpositionTest, SaysWhatIsWrongAndWhere) {
  const struct {
    ExpositionFormat format;
    std::string text;
    std::string want;
  } cases[] = {
      {kText, "a 1\nb", "name: line 2: no value after the series"},
      {kText, "a", "name: line 1: no value after the series"},
      {kText, "a \n", "value: line 1: no number"},
      {kText, "a x", "value: line 1: no number at \"x\""},
      {kText, "a 1e999", "value: line 1: no number at \"1e999\""},
      {kText, "a --1", "value: line 1: no number at \"--1\""},
      {kText, "a nan(1)", "value: line 1: no number at \"nan(1)\""},
      {kText, "a 1 2.5", "timestamp: line 1: no time at \"2.5\""},
      {kText, "a 1 99999999999999999999", "timestamp: line 1: no time at \"99999999999999999999\""},
      {kText, "a 1 2 3", "trailing: line 1: more than a value and a time at \"3\""},
      {kText, "a 1\r\n", "value: line 1: no number at \"1\\u000d\""},
      {kText, "9a 1", "name: line 1: no name of a metric at \"9a 1\""},
      {kText, "{b=\"c\"} 1", "name: line 1: no name of a metric at \" 1\""},
      {kText, "a{b=\"c} 1", "label: line 1: a quote is not closed at \"c} 1\""},
      {kText, "a{b=\"c\\\"} 1", "label: line 1: a quote is not closed at \"c\\\\\\\"} 1\""},
      {kText, "a{b=c} 1", "label: line 1: no quoted value of a label at \"c} 1\""},
      {kText, "a{b \"c\"} 1",
       "label: line 1: no \"=\" after the name of a label at \"\\\"c\\\"} 1\""},
      {kText, "a{b=\"c\" d=\"e\"} 1",
       "label: line 1: no comma or brace after a label at \"d=\\\"e\\\"} 1\""},
      {kText, "a{,} 1", "label: line 1: no name of a label at \",} 1\""},
      {kText, "a{b=\"c\"", "label: line 1: no comma or brace after a label"},
      {kText, "a{b=\"1\",b=\"2\"} 1", "label: line 1: label \"b\" twice at \"} 1\""},
      {kText, "a{__name__=\"b\"} 1", "label: line 1: label \"__name__\" twice at \"} 1\""},
      {kText, "a{b=\"\xff\"} 1",
       "encoding: line 1: text that is not UTF-8 at \"\xEF\xBF\xBD\\\"} 1\""},
      {kText, "# TYPE a thing\n", "comment: line 1: no type of a metric at \"thing\""},
      {kText, "# HELP 9a b\n", "name: line 1: no name of a metric at \"9a b\""},
      {kOpen, "a 1\n", "truncated: line 1: the text does not end with \"# EOF\""},
      {kOpen, "# EOF\na 1\n", "trailing: line 2: text after \"# EOF\" at \"a 1\""},
      {kOpen, "a 1\n\n# EOF", "comment: line 2: an empty line"},
      {kOpen, "# hello\n# EOF", "comment: line 1: a comment that is no HELP, TYPE, UNIT or EOF"},
      {kOpen, "a  1\n# EOF", "value: line 1: no number at \" 1\""},
      {kOpen, "a 1 \n# EOF", "trailing: line 1: more than a value and a time"},
      {kOpen, "a 1 # x\n# EOF", "trailing: line 1: no exemplar at \"x\""},
  };
  for (const auto& c : cases) EXPECT_EQ(Read(c.text, c.format), c.want) << c.text;
}

TEST(ExpositionTest, NaNNeverLooksLikeTheEndOfASeries) {
  for (const std::string text : {"a NaN", "a nan", "a -NaN"}) {
    ExpositionParser parser(text, kText);
    ExposedSample sample;
    ASSERT_TRUE(parser.Next(sample).value_or(false)) << text;
    EXPECT_TRUE(std::isnan(sample.value));
    EXPECT_EQ(std::bit_cast<uint64_t>(sample.value), std::bit_cast<uint64_t>(std::nan("")));
  }
}

TEST(ExpositionTest, ASeriesWithVeryManyLabelsIsRefused) {
  std::string text = "a{";
  for (int i = 0; i < 300; ++i) text += "l" + std::to_string(i) + "=\"\",";
  EXPECT_TRUE(Read(text + "} 1", kText).starts_with("label: line 1: too many labels"));
}

}  // namespace
}  // namespace activescale::source
