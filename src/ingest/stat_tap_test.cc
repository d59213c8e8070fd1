#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/testing/fake_clock.h"
#include "ingest/stream_session.h"
#include "ingest/testing/envoy_message.h"
#include "store/embedded_store.h"

namespace activescale::ingest {
namespace {

using std::chrono::seconds;

/// What a tap on chosen stats hears of the streams that push.
class StatTapTest : public testing::Test {
 protected:
  void Send(StreamSession& stream, const EnvoyMessage& message) {
    const std::string bytes = message.Bytes();
    const std::vector<std::string_view> slices = {bytes};
    ASSERT_TRUE(stream.OnMessage(scanner_, slices));
  }
  std::shared_ptr<StreamSession> Open() { return StreamSession::Open(ingest_, "10.0.0.9:4711"); }

  const metric::StatChooser chooser_ = *metric::StatChooser::Make(
      {R"(cluster\..*\.(rq_active|rq_total|latency))", R"(http\.inbound_a\.downstream_rq_active)"});
  bool active_ = true;
  std::string heard_;
  base::FakeClock clock_;
  telemetry::Registry registry_;
  store::EmbeddedStore store_{{.ttl = seconds(20)}, clock_, registry_};
  kube::EnvoyPodIndex pods_{seconds(60), clock_};
  Ingest ingest_{
      {.stats = {.chooser = &chooser_,
                 .active = [this] { return active_; },
                 .take =
                     [this](const metric::PodKey& pod, std::span<const metric::ChosenStat> stats,
                            base::SteadyTime received, bool begins_flush) {
                       EXPECT_EQ(received, clock_.Now());
                       heard_ += pod.name + (begins_flush ? " flush" : " more");
                       for (const metric::ChosenStat& stat : stats) {
                         heard_ +=
                             fmt::format(" {}{}={}{}", stat.name, stat.labels.empty() ? "" : "{}",
                                         stat.value, stat.counter ? "c" : "");
                       }
                       heard_ += "; ";
                     }}},
      store_,
      &pods_,
      clock_,
      registry_};
  WireScanner scanner_;
};

TEST_F(StatTapTest, HearsChosenGaugesAndCountersOfEachMessageAndNothingElse) {
  const auto stream = Open();
  EnvoyMessage first("shop", "web-0");
  first.At(1000)
      .Gauge("cluster.api.rq_active", 3, {{"zone", "a"}})
      .Gauge("cluster.api.rq_pending", 9)
      .Gauge("http.inbound_a.downstream_rq_active", 2)
      .Gauge("cluster.bad.rq_active", std::numeric_limits<double>::quiet_NaN());
  auto* counter = first.proto().add_envoy_metrics();
  counter->set_name("cluster.api.rq_total");
  counter->add_metric()->mutable_counter()->set_value(7);
  auto* summary = first.proto().add_envoy_metrics();
  summary->set_name("cluster.api.latency");
  summary->add_metric()->mutable_summary()->set_sample_count(1);
  Send(*stream, first);
  Send(*stream, EnvoyMessage().At(1000).Gauge("cluster.api.rq_active", 4));
  EXPECT_EQ(heard_,
            "web-0 flush cluster.api.rq_active{}=3 http.inbound_a.downstream_rq_active=2 "
            "cluster.api.rq_total=7c; web-0 more cluster.api.rq_active=4; ");
  EXPECT_EQ(ingest_.metrics().dropped_by_names.Value(), 1);
  static_cast<void>(stream->End(true));
}

TEST_F(StatTapTest, AStatThatIsAMetricOfOursCountsAsOne) {
  const auto stream = Open();
  Send(*stream, EnvoyMessage("shop", "web-0").Gauge("http.inbound_a.downstream_rq_active", 2));
  static_cast<void>(stream->End(true));
  store_.Read({{"shop", "web-0"}}, metric::MetricKind::kInboundActiveRequests,
              [](const base::Result<store::ReadResult>& result) {
                EXPECT_EQ(result->readings[0].value.ToString(), "2");
              });
}

TEST_F(StatTapTest, IsLeftAloneWhileNobodyWantsItAndByAStreamThatDoesNotCount) {
  const auto old_stream = Open();
  active_ = false;
  Send(*old_stream, EnvoyMessage("shop", "web-0").Gauge("cluster.api.rq_active", 3));
  EXPECT_EQ(heard_, "");
  active_ = true;
  const auto new_stream = Open();
  Send(*new_stream, EnvoyMessage("shop", "web-0").Gauge("cluster.api.rq_active", 4));
  for (int i = 0; i < 2; ++i) {
    Send(*old_stream, EnvoyMessage().Gauge("cluster.api.rq_active", 5));
  }
  EXPECT_EQ(heard_, "web-0 flush cluster.api.rq_active=4; ");
  static_cast<void>(old_stream->End(true));
  static_cast<void>(new_stream->End(true));
}

}  // namespace
}  // namespace activescale::ingest
