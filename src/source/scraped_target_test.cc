#include "source/scraped_target.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/testing/fake_clock.h"
#include "series/sample.h"

namespace activescale::source {
namespace {

using Entries = std::vector<metric::Labels::Entry>;

using std::chrono::milliseconds;
constexpr auto kTextFormat = ExpositionFormat::kPrometheusText;

class ScrapedTargetTest : public testing::Test {
 protected:
  ScrapedTargetTest() {
    for (const std::string name : {"a", "b", "up", "scrape_samples_scraped"}) {
      (void)series_.Select({*series::Matcher::Make(series::Matcher::Op::kEqual, "__name__", name)},
                           0, 0);
    }
  }

  /// The newest sample of each series in the store, "ended" for a stale marker.
  std::map<std::string, std::string> Newest() const {
    std::map<std::string, std::string> all;
    for (const auto& series : series_.Find({})) {
      std::string text;
      for (const auto& [name, value] : series->labels().entries()) text += name + "=" + value + ",";
      series->ForEach(series::kMinTime, series::kMaxTime, [&](const series::Sample& sample) {
        const std::string value =
            series::IsStaleMarker(sample.value) ? "ended" : std::to_string(int(sample.value));
        all[text] = value + "@" + std::to_string(sample.time_ms);
      });
    }
    return all;
  }

  using Map = std::map<std::string, std::string>;
  base::FakeClock clock_;
  series::SeriesStore series_{{}, clock_};
  telemetry::Registry registry_;
  ScrapeMetrics metrics_{registry_};
};

TEST_F(ScrapedTargetTest, KeepsWhatSomebodyAsksForAndEndsWhatIsGone) {
  ScrapedTarget target(metric::Labels(Entries{{"job", "j"}}), {}, series_, metrics_);
  ASSERT_TRUE(target.Take("a{x=\"1\"} 1\na{x=\"2\"} 2\nc 3\n", kTextFormat, 1000, milliseconds(5)));
  EXPECT_EQ(Newest(), (Map{{"__name__=a,job=j,x=1,", "1@1000"},
                           {"__name__=a,job=j,x=2,", "2@1000"},
                           {"__name__=up,job=j,", "1@1000"},
                           {"__name__=scrape_samples_scraped,job=j,", "3@1000"}}));
  ASSERT_TRUE(target.Take("a{x=\"1\"} 7\n", kTextFormat, 2000, milliseconds(5)));
  EXPECT_EQ(Newest()["__name__=a,job=j,x=1,"], "7@2000");
  EXPECT_EQ(Newest()["__name__=a,job=j,x=2,"], "ended@2000");

  target.Fail(3000, milliseconds(5));
  EXPECT_EQ(Newest()["__name__=a,job=j,x=1,"], "ended@3000");
  EXPECT_EQ(Newest()["__name__=up,job=j,"], "0@3000");

  target.End(4000);
  EXPECT_EQ(Newest()["__name__=up,job=j,"], "ended@4000");
  EXPECT_EQ(Newest()["__name__=a,job=j,x=1,"], "ended@3000");
}

TEST_F(ScrapedTargetTest, NothingOfABrokenTextIsTaken) {
  ScrapedTarget target({}, {}, series_, metrics_);
  const auto taken = target.Take("a 1\nb x\n", kTextFormat, 1000, milliseconds(5));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().message, "line 2: no number at \"x\"");
  EXPECT_EQ(Newest(),
            (Map{{"__name__=up,", "0@1000"}, {"__name__=scrape_samples_scraped,", "0@1000"}}));
  EXPECT_EQ(metrics_.malformed[static_cast<size_t>(ExpositionFault::kValue)]->Value(), 1);
}

TEST_F(ScrapedTargetTest, TheTargetsLabelsWinUnlessToldOtherwise) {
  const std::string text = "a{job=\"theirs\",empty=\"\"} 1\n";
  ScrapedTarget ours(metric::Labels(Entries{{"job", "ours"}}), {}, series_, metrics_);
  ASSERT_TRUE(ours.Take(text, kTextFormat, 1000, milliseconds(5)));
  EXPECT_TRUE(Newest().contains("__name__=a,exported_job=theirs,job=ours,"));
  ScrapedTarget theirs(metric::Labels(Entries{{"job", "ours"}}), {.honor_labels = true}, series_,
                       metrics_);
  ASSERT_TRUE(theirs.Take(text, kTextFormat, 1000, milliseconds(5)));
  EXPECT_TRUE(Newest().contains("__name__=a,job=theirs,"));
}

TEST_F(ScrapedTargetTest, ATargetThatTellsTimesTellsItsEndItself) {
  ScrapedTarget honest({}, {}, series_, metrics_);
  ASSERT_TRUE(honest.Take("a 1 900\n", kTextFormat, 1000, milliseconds(5)));
  EXPECT_EQ(Newest()["__name__=a,"], "1@900");
  honest.Fail(2000, milliseconds(5));
  EXPECT_EQ(Newest()["__name__=a,"], "1@900");
  ScrapedTarget ignored({}, {.honor_timestamps = false}, series_, metrics_);
  ASSERT_TRUE(ignored.Take("b 1 900\n", kTextFormat, 1000, milliseconds(5)));
  ignored.Fail(2000, milliseconds(5));
  EXPECT_EQ(Newest()["__name__=b,"], "ended@2000");
}

TEST_F(ScrapedTargetTest, WhatIsToldOfMetricsIsKnownAsLongAsThereIsTheTarget) {
  const std::string text =
      "# HELP a Some \\n help.\n# TYPE a untyped\na 1\n# a comment\n# TYPE b gauge\n# HELP c Of "
      "c.\n";
  const auto all = [this] {
    std::map<std::string, std::string> told;
    for (const auto& page : series_.metadata().Pages()) {
      for (const auto& metric : page->metrics) {
        told[page->ns + "/" + metric.name] = metric.type + ":" + metric.help + ":" + metric.unit;
      }
    }
    return told;
  };
  {
    const metric::Labels labels(Entries{{"job", "j"}, {"namespace", "shop"}});
    ScrapedTarget target(labels, {}, series_, metrics_);
    ASSERT_TRUE(target.Take(text, kTextFormat, 1000, milliseconds(5)));
    const Map want{
        {"shop/a", "unknown:Some \n help.:"}, {"shop/b", "gauge::"}, {"shop/c", "unknown:Of c.:"}};
    EXPECT_EQ(all(), want);
    EXPECT_FALSE(target.Take("# TYPE d gauge\nd\n", kTextFormat, 2000, milliseconds(5)));
    EXPECT_EQ(all(), want) << "nothing is taken of a broken text";
    ScrapedTarget other(labels, {}, series_, metrics_);
    ASSERT_TRUE(other.Take(text, kTextFormat, 1000, milliseconds(5)));
    EXPECT_EQ(series_.metadata().Pages().size(), 1) << "one page for targets that tell the same";
    ASSERT_TRUE(
        target.Take("# TYPE a counter\n# UNIT a seconds\n# HELP a \\\"A\\\"\na_total 1\n# EOF\n",
                    ExpositionFormat::kOpenMetrics, 3000, milliseconds(5)));
    EXPECT_EQ(series_.metadata().Pages().size(), 2);
    ASSERT_TRUE(other.Take("a 1\n", kTextFormat, 3000, milliseconds(5)));
    EXPECT_EQ(all(), (Map{{"shop/a", "counter:\"A\":seconds"}}));
  }
  EXPECT_EQ(all(), Map{});
}

TEST_F(ScrapedTargetTest, TooMuchToTellIsCountedAndTheSamplesAreTaken) {
  const std::string text = "# HELP a " + std::string(17 << 20, 'x') + "\na 1\n";
  ScrapedTarget target(metric::Labels(Entries{{"job", "j"}}), {}, series_, metrics_);
  ASSERT_TRUE(target.Take(text, kTextFormat, 1000, milliseconds(5)));
  EXPECT_EQ(Newest()["__name__=a,job=j,"], "1@1000");
  EXPECT_TRUE(series_.metadata().Pages().empty());
  EXPECT_EQ(metrics_.metadata_dropped.Value(), 1);
}

}  // namespace
}  // namespace activescale::source
