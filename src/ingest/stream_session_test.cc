#include "ingest/stream_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/unix_time.h"
#include "ingest/testing/session_fixture.h"

namespace activescale::ingest {
namespace {

using metric::MetricKind;
using metric::PodKey;
using std::chrono::milliseconds;
using std::chrono::seconds;
using store::PodReading;
using testing::HasSubstr;

using StreamSessionTest = SessionFixture;

TEST_F(StreamSessionTest, TimeFromPushToStoreIsCountedForEachWholeFlush) {
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").Gauge(kInbound, 3)));
  ASSERT_TRUE(Send(*stream, EnvoyMessage().At(5000).Gauge(kInbound, 4)));
  Pass(milliseconds(60));  // the second one is held back: its Envoy may split flushes
  const auto histogram = metrics_.push_to_stored.Collect().histogram;
  EXPECT_EQ(histogram.sample_count, 2);
  EXPECT_DOUBLE_EQ(histogram.sample_sum, 0.06);
}

// Case E1: the message of the Go program's documentation.
TEST_F(StreamSessionTest, DocumentedMessageGivesItsThreeMetrics) {
  const auto stream = Open();
  ASSERT_TRUE(
      Send(*stream, EnvoyMessage("my-ns", "my-pod")
                        .NodeId("sidecar~10.0.0.1~my-pod.my-ns~my-ns.svc.cluster.local")
                        .Gauge(kInbound, 3)
                        .Gauge(kOutbound, 4)
                        .Gauge(kListener, 12)
                        .Gauge("cluster.xds-grpc;.circuit_breakers.default.cx_pool_open", 1)));
  EXPECT_EQ(Say("my-ns", "my-pod"), "3 4 12");
  EXPECT_EQ(metrics_.dropped_by_names.Value(), 1);
  EXPECT_EQ(metrics_.kept_families.Value(), 3);
  EXPECT_EQ(metrics_.stored_metrics.Value(), 3);
  EXPECT_EQ(metrics_.messages.Value(), 1);
  EXPECT_EQ(metrics_.DroppedByIds(), 0);
}

// Case A1: all stats in one message, the wanted one last.
TEST_F(StreamSessionTest, GaugeAtTheEndOfAHugeMessageIsFound) {
  EnvoyMessage message("shop", "web-0");
  for (int i = 0; i < 60'000; ++i) {
    message.Gauge("cluster.outbound|9080||service-" + std::to_string(i) +
                      ".shop.svc.cluster.local;.upstream_cx_active",
                  i);
  }
  message.Gauge(kInbound, 9);
  EXPECT_GT(message.Bytes().size(), size_t{5} << 20);
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, message));
  EXPECT_EQ(Say("shop", "web-0"), "9 zero zero");
  EXPECT_EQ(metrics_.dropped_by_names.Value(), 60'000);
}

// Case A2.
TEST_F(StreamSessionTest, FlushInTwoMessagesIsNeverSeenInHalf) {
  const auto stream = Open();
  const std::string other = "http.inbound_0.0.0.0_9090;.downstream_rq_active";
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").At(1000).Gauge(kInbound, 3)));
  EXPECT_EQ(Say("shop", "web-0"), "missing missing missing") << "not zero: no flush is whole yet";
  ASSERT_TRUE(Send(*stream, EnvoyMessage().At(1000).Gauge(other, 4)));
  Pass(milliseconds(50));
  EXPECT_EQ(Say("shop", "web-0"), "7 zero zero");
  Pass(seconds(5));
  ASSERT_TRUE(Send(*stream, EnvoyMessage().At(6000).Gauge(kInbound, 1)));
  Pass(milliseconds(40));
  EXPECT_EQ(Say("shop", "web-0"), "7 zero zero");
  ASSERT_TRUE(Send(*stream, EnvoyMessage().At(6000).Gauge(other, 0)));
  Pass(milliseconds(40));
  EXPECT_EQ(Say("shop", "web-0"), "7 zero zero");
  Pass(milliseconds(10));
  EXPECT_EQ(Say("shop", "web-0"), "1 zero zero");
  EXPECT_EQ(metrics_.batched_streams.Value(), 1);
}

// Case A3.
TEST_F(StreamSessionTest, TagsAsLabelsAreToldApartByTheirPrefix) {
  for (const std::string label : {"envoy.http_conn_manager_prefix", "http_conn_manager_prefix"}) {
    const auto stream = Open();
    const std::string name = "http.downstream_rq_active";
    ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0")
                                  .Gauge(name, 2, {{label, "inbound_0.0.0.0_8080"}})
                                  .Gauge(name, 5, {{label, "outbound_0.0.0.0_8080"}})
                                  .Gauge(name, 1, {{label, "admin"}})));
    EXPECT_EQ(Say("shop", "web-0"), "2 5 zero") << label;
  }
  EXPECT_EQ(metrics_.dropped_by_names.Value(), 2);
}

// Case A4.
TEST_F(StreamSessionTest, StatsScrapeOfIstioIsNotTraffic) {
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0")
                                .Gauge("http.stats.downstream_rq_active", 1)
                                .Gauge(kInbound, 0)));
  EXPECT_EQ(Say("shop", "web-0"), "0 zero zero");
}

// Case A7.
TEST_F(StreamSessionTest, PodNameWithDotsComesWholeFromTheId) {
  const auto stream = Open();
  ASSERT_TRUE(
      Send(*stream, EnvoyMessage()
                        .NodeId("sidecar~10.0.0.5~foo.bar-1234-5678.demo~demo.svc.cluster.local")
                        .Gauge(kInbound, 3)));
  EXPECT_EQ(Say("demo", "foo.bar-1234-5678"), "3 zero zero");
  EXPECT_EQ(Say("demo", "foo"), "missing missing missing");
}

// Case A12.
TEST_F(StreamSessionTest, FreshnessIsJudgedByOurClockAndSkewIsShown) {
  const int64_t hour = 3'600'000;
  for (const int64_t skew : {hour, -hour}) {
    const int64_t ours = base::UnixMsNow(clock_);
    const auto stream = Open();
    ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").At(ours + skew).Gauge(kInbound, 3)));
    Pass(milliseconds(50));
    EXPECT_EQ(Say("shop", "web-0"), "3 zero zero") << skew;
  }
  EXPECT_THAT(registry_.Render(),
              HasSubstr("\nactivescale_ingest_sender_clock_skew_seconds 3600\n"));
  Pass(seconds(20));
  EXPECT_EQ(Say("shop", "web-0"), "missing missing missing");
  Pass(seconds(60));
  Pass(seconds(60));
  EXPECT_THAT(registry_.Render(), HasSubstr("\nactivescale_ingest_sender_clock_skew_seconds 0\n"));
}

TEST_F(StreamSessionTest, AnyTimestampIsSurvived) {
  const auto stream = Open();
  for (const int64_t timestamp : {INT64_MIN, INT64_MAX, int64_t{-1}, int64_t{1}}) {
    ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").At(timestamp).Gauge(kInbound, 3)));
  }
}

// Case B2.
TEST_F(StreamSessionTest, PodCreatedAgainUnderTheSameNameIsNotSummed) {
  const auto half_open = Open();
  const auto fresh = Open();
  ASSERT_TRUE(Send(*half_open, EnvoyMessage("shop", "web-0").Gauge(kInbound, 40)));
  ASSERT_TRUE(Send(*fresh, EnvoyMessage("shop", "web-0").Gauge(kInbound, 2)));
  EXPECT_EQ(Say("shop", "web-0"), "2 zero zero");
  ASSERT_TRUE(Send(*half_open, EnvoyMessage().Gauge(kInbound, 40)));
  EXPECT_EQ(Say("shop", "web-0"), "2 zero zero");
  EXPECT_EQ(metrics_.superseded.Value(), 1);
  ASSERT_TRUE(fresh->End(true));
  ASSERT_TRUE(Send(*half_open, EnvoyMessage().Gauge(kInbound, 41)));
  EXPECT_EQ(Say("shop", "web-0"), "41 zero zero")
      << "the older stream is still open: it takes over";
}

// Case B3.
TEST_F(StreamSessionTest, ValueIsMissingAfterTheTtl) {
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").Gauge(kInbound, 3)));
  Pass(seconds(21));
  EXPECT_EQ(Say("shop", "web-0"), "missing missing missing");
}

// Case E2.
TEST_F(StreamSessionTest, HalfOfTheMetadataIsNotEnough) {
  const std::string id = "sidecar~10.0.0.1~a.id-ns~id-ns.svc.cluster.local";
  for (const std::string key : {"NAME", "NAMESPACE"}) {
    const auto stream = Open();
    ASSERT_TRUE(Send(*stream, EnvoyMessage().NodeId(id).Metadata(key, "other").Gauge(kInbound, 3)));
    EXPECT_EQ(Say("id-ns", "a"), "3 zero zero") << key;
    Pass(seconds(60));
  }
}

// Case E3.
TEST_F(StreamSessionTest, HeartbeatWithoutAnyFamilyIsZeroAndSeenFamiliesKeepTheirValue) {
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").Gauge("server.live", 1)));
  EXPECT_EQ(Say("shop", "web-0"), "zero zero zero");
  ASSERT_TRUE(Send(*stream, EnvoyMessage().Gauge(kInbound, 5)));
  Pass(seconds(15));
  ASSERT_TRUE(Send(*stream, EnvoyMessage().Gauge("server.live", 1)));
  EXPECT_EQ(Say("shop", "web-0"), "5 zero zero");
  Pass(seconds(5));
  EXPECT_EQ(Say("shop", "web-0"), "zero zero zero");
}

TEST_F(StreamSessionTest, SeveralMatchingFamiliesAddUp) {
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0")
                                .Gauge(kListener, 2)
                                .Gauge("listener.[__]_8443.downstream_cx_active", 3)
                                .Gauge("listener.0.0.0.0_8080.worker_0.downstream_cx_active", 2)));
  EXPECT_EQ(Say("shop", "web-0"), "zero zero 5");
}

TEST_F(StreamSessionTest, ValuesOutOfRangeAreRefusedAndCounted) {
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").Gauge(kInbound, 5)));
  for (const double value : {std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(), -1.0, 1.1e12}) {
    ASSERT_TRUE(Send(*stream, EnvoyMessage().Gauge(kInbound, value)));
  }
  EnvoyMessage counter;
  counter.Gauge(kInbound, 0).proto().mutable_envoy_metrics(0)->mutable_metric(0)->clear_gauge();
  ASSERT_TRUE(Send(*stream, counter));
  EXPECT_EQ(Say("shop", "web-0"), "5 zero zero");
  EXPECT_EQ(metrics_.value_out_of_range.Value(), 4);
  EXPECT_EQ(metrics_.value_not_gauge.Value(), 1);
  EXPECT_EQ(metrics_.stored_metrics.Value(), 1);
}

TEST_F(StreamSessionTest, MessagesWithoutPodAreDroppedAndTheStreamGoesOn) {
  const auto stream = Open();
  EXPECT_TRUE(Send(*stream, EnvoyMessage().Gauge(kInbound, 1)));
  EnvoyMessage empty_node;
  empty_node.proto().mutable_identifier()->mutable_node();
  EXPECT_TRUE(Send(*stream, empty_node));
  EXPECT_TRUE(Send(*stream, EnvoyMessage("shop", "Web").Gauge(kInbound, 1)));
  EXPECT_TRUE(Send(*stream, EnvoyMessage().Gauge(kInbound, 1)));
  EXPECT_EQ(metrics_.DroppedByIds(), 4);
  EXPECT_EQ(metrics_.id_missing.Value(), 1);
  EXPECT_EQ(metrics_.id_refused.Value(), 3);
  EXPECT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").Gauge(kInbound, 1)));
  EXPECT_EQ(Say("shop", "web-0"), "1 zero zero");
  EXPECT_TRUE(stream->End(true));
}

TEST_F(StreamSessionTest, StreamThatNeverHadAPodEndsWithTheReason) {
  const auto stream = Open();
  EXPECT_TRUE(Send(*stream, EnvoyMessage().NodeId("envoy-1")));
  const auto end = stream->End(true);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, base::Code::kInvalidArgument);
  EXPECT_THAT(end.error().message, HasSubstr("envoy-1"));
}

TEST_F(StreamSessionTest, ChangedNodeEndsTheStreamAndChangesNothing) {
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").Gauge(kInbound, 1)));
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").Gauge(kInbound, 2))) << "the same node";
  const auto changed = Send(*stream, EnvoyMessage("shop", "web-1").Gauge(kInbound, 3));
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, base::Code::kInvalidArgument);
  EXPECT_THAT(changed.error().message, HasSubstr("shop/web-0"));
  EXPECT_EQ(Say("shop", "web-0"), "2 zero zero");
  EXPECT_EQ(Say("shop", "web-1"), "missing missing missing");
  EXPECT_EQ(metrics_.ended_node_changed.Value(), 1);
}

TEST_F(StreamSessionTest, MalformedMessageEndsTheStream) {
  const auto stream = Open();
  const auto result = SendBytes(*stream, "\x0F garbage");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, base::Code::kInvalidArgument);
  EXPECT_EQ(metrics_.ended_malformed.Value(), 1);
}

TEST_F(StreamSessionTest, FlushHeldBackIsPublishedIfTheSenderClosesTheStream) {
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").At(1).Gauge(kInbound, 3)));
  ASSERT_TRUE(stream->End(true));
  EXPECT_EQ(Say("shop", "web-0"), "3 zero zero");
}

TEST_F(StreamSessionTest, TicksAreRareUntilAFlushIsHeldBackAndThenWhenItIsDue) {
  EXPECT_EQ(Pass(milliseconds(0)), milliseconds(40));
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").At(1).Gauge(kInbound, 3)));
  EXPECT_EQ(Pass(milliseconds(35)), milliseconds(15));
  EXPECT_EQ(Pass(milliseconds(14)), milliseconds(10)) << "not oftener, for the sake of one";
  EXPECT_EQ(Say("shop", "web-0"), "missing missing missing");
  EXPECT_EQ(Pass(milliseconds(10)), milliseconds(40));
  EXPECT_EQ(Say("shop", "web-0"), "3 zero zero");
}

TEST_F(StreamSessionTest, FlushHeldBackIsDroppedIfTheStreamBreaksOff) {
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").At(1).Gauge(kInbound, 3)));
  ASSERT_TRUE(stream->End(false));
  Pass(milliseconds(100));
  EXPECT_EQ(Say("shop", "web-0"), "missing missing missing");
}

TEST_F(StreamSessionTest, FlushThatIsLostWithItsStreamLeavesNoHeartbeatThatOutlivesTheValue) {
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").Gauge(kInbound, 5)));
  Pass(seconds(15));
  ASSERT_TRUE(Send(*stream, EnvoyMessage().At(15'000).Gauge(kInbound, 6)));
  ASSERT_TRUE(stream->End(false));
  EXPECT_EQ(Say("shop", "web-0"), "5 zero zero");
  Pass(seconds(6));
  EXPECT_EQ(Say("shop", "web-0"), "missing missing missing");
}

TEST_F(StreamSessionTest, PodAndItsLabelsAreKnownFromTheNode) {
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0")
                                .PodLabel("app", "web")
                                .PodLabel("not legal", "x")
                                .Metadata("WORKLOAD_NAME", "web")));
  const auto selected = pods_.Select("shop", *metric::Selector::Parse("app=web"));
  EXPECT_THAT(*selected, testing::ElementsAre(PodKey{"shop", "web-0"}));
  EXPECT_EQ(pods_.PodsOf("shop", {"deployments.apps", "web"})->size(), 1u);
  EXPECT_EQ(metrics_.ignored_labels.Value(), 1);
}

TEST_F(StreamSessionTest, TtlBelowThreeFlushIntervalsIsShownWhileTheStreamIsOpen) {
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0")));
  for (const auto& [interval, slow] : {std::pair(6, 0),
                                       {6, 0},
                                       {30, 0},
                                       {6, 0},
                                       {10, 0},
                                       {10, 1},
                                       {10, 1},
                                       {5, 0},
                                       {10, 0},
                                       {10, 1}}) {
    Pass(seconds(interval));
    ASSERT_TRUE(Send(*stream, EnvoyMessage()));
    EXPECT_EQ(metrics_.slow_streams.Value(), slow) << interval;
  }
  ASSERT_TRUE(stream->End(true));
  EXPECT_EQ(metrics_.slow_streams.Value(), 0);
}

class AbsentIsZeroTest : public StreamSessionTest {
 protected:
  AbsentIsZeroTest() : SessionFixture({.rules = {}, .absent = AbsentFamily::kZero}) {}
};

TEST_F(AbsentIsZeroTest, AbsentFamilyThatWasSeenIsZeroAtOnce) {
  const auto stream = Open();
  ASSERT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0").Gauge(kInbound, 5)));
  ASSERT_TRUE(Send(*stream, EnvoyMessage().Gauge("server.live", 1)));
  EXPECT_EQ(Say("shop", "web-0"), "0 zero zero");
}

// The lines that `rg "stored (inbound_active_requests|outbound_active_requests|active_connections)|
// skipping metric name|missing pod identity"` of the Go program's documentation looks for.
TEST_F(StreamSessionTest, DebugLinesSayWhatWasStoredSkippedAndDropped) {
  base::SetVerbosity(4);
  testing::internal::CaptureStderr();
  const auto stream = Open();
  EXPECT_TRUE(Send(*stream, EnvoyMessage().Gauge(kInbound, 1)));
  EXPECT_TRUE(Send(*stream, EnvoyMessage("shop", "web-0")
                                .Gauge(kInbound, 3)
                                .Gauge("http.admin.downstream_rq_active", 1)
                                .Gauge("server.live", 1)));
  base::SetVerbosity(0);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("missing pod identity"));
  EXPECT_THAT(log, HasSubstr("stored inbound_active_requests pod=shop/web-0 value=3"));
  EXPECT_THAT(log, HasSubstr("skipping metric name=http.admin.downstream_rq_active"));
  EXPECT_THAT(log, HasSubstr("skipping metric name=server.live"));
}

// For the thread sanitizer: messages, publication, readers and expiry at once.
TEST_F(StreamSessionTest, EightThreadsPushWhileFlushesAreDueAndPodsExpire) {
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([this, t] {
      WireScanner scanner;
      for (int round = 0; round < 20; ++round) {
        const auto stream = Open();
        for (int64_t i = 0; i < 20; ++i) {
          EnvoyMessage message("shop", "web-" + std::to_string(t % 3));
          const std::string bytes = message.At(1 + i / 2).Gauge(kInbound, 3).Bytes();
          const std::vector<std::string_view> slices = {bytes};
          EXPECT_TRUE(stream->OnMessage(scanner, slices));
        }
        EXPECT_TRUE(stream->End(round % 2 == 0));
      }
    });
  }
  threads.emplace_back([this] {
    for (int i = 0; i < 2'000; ++i) Pass(milliseconds(1));
  });
  threads.emplace_back([this] {
    for (int i = 0; i < 500; ++i) {
      Say("shop", "web-0");
      EXPECT_TRUE(pods_.Contains({"shop", "web-0"}));
      store_.Expire(clock_.Now());
      pods_.Expire(clock_.Now());
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(metrics_.messages.Value(), 6 * 20 * 20);
  EXPECT_EQ(metrics_.open_streams.Value(), 0);
}

}  // namespace
}  // namespace activescale::ingest
