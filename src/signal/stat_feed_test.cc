#include "signal/stat_feed.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/testing/fake_clock.h"
#include "base/unix_time.h"
#include "kube/testing/fake_pod_index.h"
#include "signal/testing/sample_text.h"

namespace activescale::signal {
namespace {

using namespace std::chrono_literals;
using series::Matcher;
using series::Matchers;

class StatFeedTest : public testing::Test {
 protected:
  StatFeedTest() {
    pods_.AddPod(gateway_);
    pods_.SetWorkloadOf(gateway_, "gateway");
  }
  void Ask(const std::string& name) { (void)Samples(name); }
  void Push(std::vector<metric::ChosenStat> stats, bool begins_flush = true) {
    feed_.Take(gateway_, stats, clock_.Now(), begins_flush);
  }
  std::string Samples(const std::string& name) {
    const int64_t now = base::UnixMsNow(clock_);
    const Matchers matchers = {*Matcher::Make(Matcher::Op::kEqual, "__name__", name)};
    std::string text;
    const auto selection = series_.Select(matchers, now - 60'000, now);
    for (const auto& series : selection->series) {
      text += fmt::format("{}: ", series->labels().Get("upstream").value_or("-"));
      text += SampleText(*series, start_ms_);
    }
    return text;
  }

  const metric::PodKey gateway_{"edge", "gateway-0"};
  base::FakeClock clock_;
  const int64_t start_ms_ = base::UnixMsNow(clock_);
  telemetry::Registry registry_;
  kube::FakePodIndex pods_;
  series::SeriesStore series_{{}, clock_};
  StatFeed feed_{{.cluster = "blue", .ttl = 20s, .max_stats = 3},
                 *metric::StatChooser::Make({R"(cluster\.(?P<upstream>.+)\.rq_(active|total))"}),
                 pods_,
                 series_,
                 clock_,
                 registry_};
};

TEST_F(StatFeedTest, AGaugeIsASampleOfItsMessagesTimeWithOurLabels) {
  EXPECT_FALSE(feed_.Active());
  Ask("envoy_cluster_rq_active");
  EXPECT_TRUE(feed_.Active());
  const std::vector<metric::LabelView> tags = {{"envoy.zone", "a"}, {"pod", "liar"}, {"no", ""}};
  Push({{.name = "cluster.api.rq_active", .labels = tags, .value = 3}});
  clock_.Advance(1s);
  Push({{.name = "cluster.api.rq_active", .labels = tags, .value = 4}});
  EXPECT_EQ(Samples("envoy_cluster_rq_active"), "api: 3@0 4@1 ");
  const Matchers any = {*Matcher::Make(Matcher::Op::kEqual, "__name__", "envoy_cluster_rq_active")};
  EXPECT_EQ(series_.Select(any, 0, 0)->series.at(0)->labels(),
            metric::Labels({{"__name__", "envoy_cluster_rq_active"},
                            {"cluster", "blue"},
                            {"envoy_zone", "a"},
                            {"namespace", "edge"},
                            {"pod", "gateway-0"},
                            {"upstream", "api"},
                            {"workload", "gateway"}}));
}

TEST_F(StatFeedTest, ACounterThatAFlushDoesNotMentionIsRepeatedAndAGaugeIsNot) {
  Ask("envoy_cluster_rq_total");
  Ask("envoy_cluster_rq_active");
  Push({{.name = "cluster.api.rq_total", .labels = {}, .value = 10, .counter = true},
        {.name = "cluster.api.rq_active", .labels = {}, .value = 1}});
  clock_.Advance(5s);
  Push({});
  Push({}, false);
  clock_.Advance(5s);
  Push({{.name = "cluster.api.rq_total", .labels = {}, .value = 12, .counter = true}});
  clock_.Advance(5s);
  Push({});
  EXPECT_EQ(Samples("envoy_cluster_rq_total"), "api: 10@0 10@5 12@10 ");
  EXPECT_EQ(Samples("envoy_cluster_rq_active"), "api: 1@0 ");
}

TEST_F(StatFeedTest, APodThatFallsSilentOrIsGoneEnds) {
  Ask("envoy_cluster_rq_active");
  Push({{.name = "cluster.api.rq_active", .labels = {}, .value = 3}});
  clock_.Advance(19s);
  feed_.Expire();
  EXPECT_EQ(Samples("envoy_cluster_rq_active"), "api: 3@0 ");
  clock_.Advance(1s);
  feed_.Expire();
  EXPECT_EQ(Samples("envoy_cluster_rq_active"), "api: 3@0 end@20 ");
  clock_.Advance(1s);
  Push({{.name = "cluster.api.rq_active", .labels = {}, .value = 5}});
  pods_.RemovePod(gateway_);
  clock_.Advance(1s);
  feed_.Expire();
  Push({{.name = "cluster.api.rq_active", .labels = {}, .value = 6}});
  EXPECT_EQ(Samples("envoy_cluster_rq_active"), "api: 3@0 end@20 5@21 end@22 ");
}

TEST_F(StatFeedTest, KnowsNoMoreStatsThanItMay) {
  Ask("envoy_cluster_rq_active");
  for (const char* name : {"cluster.a.rq_active", "cluster.b.rq_active", "cluster.c.rq_active",
                           "cluster.d.rq_active", "cluster.d.rq_active"}) {
    Push({{.name = name, .labels = {}, .value = 1}});
  }
  EXPECT_EQ(Samples("envoy_cluster_rq_active"), "a: 1@0 b: 1@0 c: 1@0 ");
  EXPECT_EQ(registry_.AddCounter("activescale_envoy_stats_dropped_total", "").Value(), 2);
}

}  // namespace
}  // namespace activescale::signal
