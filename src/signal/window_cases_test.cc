#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "base/testing/fake_clock.h"
#include "base/unix_time.h"
#include "kube/testing/fake_pod_index.h"
#include "promql/engine.h"
#include "signal/envoy_feed.h"
#include "store/embedded_store.h"

namespace activescale::signal {
namespace {

using namespace std::chrono_literals;

/// A pod whose requests are short: 50 a second of 20 ms each, so that 1.0 is in flight on average
/// and a single look sees 0 or some. One flush a second, for five minutes.
class ShortRequestsTest : public testing::Test {
 protected:
  ShortRequestsTest() {
    pods_.AddPod(pod_);
    static_cast<void>(Ask("max_over_time(inbound_active_requests[5m])"));
    const auto stream = feed_.Open(pod_);
    std::mt19937_64 random(7);
    std::exponential_distribution<double> gap(50);  // seconds
    std::vector<double> begins;
    for (double at = 0; at < 301; at += gap(random)) begins.push_back(at);
    for (int second = 1; second <= 300; ++second) {
      clock_.Advance(1s);
      const auto in_flight = std::ranges::count_if(
          begins, [second](double at) { return at <= second && second < at + 0.020; });
      store::Flush flush;
      flush.values[0] = metric::Quantity::FromMilli(in_flight * 1000);
      stream->Write(flush, clock_.Now());
    }
  }

  double Ask(const std::string& query) {
    const int64_t now = base::UnixMsNow(clock_);
    const auto result = engine_.Query(query, promql::EvaluationTime::At(now));
    EXPECT_TRUE(result) << result.error().message;
    return result && !result->series.empty() ? result->series[0].points[0].value : -1;
  }

  const metric::PodKey pod_{"shop", "web-0"};
  base::FakeClock clock_;
  telemetry::Registry registry_;
  store::EmbeddedStore store_{{.ttl = 20s}, clock_, registry_};
  kube::FakePodIndex pods_;
  series::SeriesStore series_{{}, clock_};
  EnvoyFeed feed_{{}, store_, pods_, series_, clock_, registry_};
  promql::Engine engine_{{}, series_, clock_};
};

// Case A10.
TEST_F(ShortRequestsTest, TheMeanOfAWindowIsWhatASingleLookIsNot) {
  EXPECT_EQ(Ask("min_over_time(inbound_active_requests[5m])"), 0);
  EXPECT_GE(Ask("max_over_time(inbound_active_requests[5m])"), 3);
  EXPECT_NEAR(Ask("avg_over_time(inbound_active_requests[5m])"), 1.0, 0.3);
}

TEST_F(ShortRequestsTest, QuantilesAndMaximaOfWindowsAreMonotone) {
  double quantile_before = -1;
  for (const char* q : {"0", "0.25", "0.5", "0.75", "0.9", "0.99", "1"}) {
    const double value =
        Ask(std::string("quantile_over_time(") + q + ", inbound_active_requests[5m])");
    EXPECT_GE(value, quantile_before) << q;
    quantile_before = value;
  }
  EXPECT_EQ(quantile_before, Ask("max_over_time(inbound_active_requests[5m])"));
  double maximum_before = 0;
  for (const char* range : {"10s", "30s", "1m", "2m", "5m"}) {
    const double value = Ask(std::string("max_over_time(inbound_active_requests[") + range + "])");
    EXPECT_GE(value, maximum_before) << range;
    maximum_before = value;
  }
}

}  // namespace
}  // namespace activescale::signal
