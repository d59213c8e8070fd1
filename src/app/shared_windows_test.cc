#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/unix_time.h"
#include "kube/testing/fake_pod_index.h"
#include "promql/engine.h"
#include "redis/testing/redis_server.h"
#include "signal/envoy_feed.h"
#include "store/redis/testing/replica.h"

namespace activescale::store {
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SampleStoreContract);
}  // namespace activescale::store

namespace activescale::signal {
namespace {

using namespace std::chrono_literals;

/// Longer than the feed takes two moments for the same flush.
constexpr auto kFlushInterval = 150ms;

/// One replica of ours: a store over the shared Redis, a feed before it, windows behind it.
class ReplicaOfOurs {
 public:
  ReplicaOfOurs(const redis::RedisServer& server, const kube::PodIndex& pods,
                std::chrono::nanoseconds clock_moved)
      : clock_(clock_moved),
        replica_({.addresses = {server.address()}}, {.ttl = 20s}, clock_moved),
        feed_({}, replica_.store(), pods, series_, clock_, registry_) {
    EXPECT_TRUE(replica_.BecomesReady());
  }

  /// A flush of a pod, whose stream is opened with the first one and closed with this replica.
  void Push(const metric::PodKey& pod, int64_t value) {
    auto& stream = streams_[pod];
    if (!stream) stream = feed_.Open(pod);
    stream->Write(store::FlushOf(store::kInbound, value), clock_.Now());
  }
  void Settle() { replica_.Settle(); }
  /// Returns when the store has answered: answers come in order.
  void Poll() {
    feed_.Poll();
    static_cast<void>(replica_.Read({{"shop", "none"}}, store::kInbound));
  }
  /// The answer in words: each series with its value.
  std::string Ask(const std::string& query) {
    const int64_t now = base::UnixMsNow(clock_);
    const auto result = engine_.Query(query, promql::EvaluationTime::At(now));
    if (!result) return result.error().message;
    std::set<std::string> parts;
    for (const auto& series : result->series) {
      parts.insert(
          fmt::format("{}={} ", series.labels.Get("pod").value_or("all"), series.points[0].value));
    }
    return fmt::format("{}", fmt::join(parts, ""));
  }
  std::string Check() {
    const auto checked = feed_.Check({*series::Matcher::Make(
        series::Matcher::Op::kEqual, "__name__", "inbound_active_requests")});
    return checked ? "ok" : checked.error().message;
  }

 private:
  store::MovedClock clock_;
  telemetry::Registry registry_;
  series::SeriesStore series_{{}, clock_};
  promql::Engine engine_{{}, series_, clock_};
  store::Replica replica_;
  EnvoyFeed feed_;
  std::map<metric::PodKey, std::unique_ptr<store::PodStream>> streams_;
};

class SharedWindowsTest : public testing::Test {
 protected:
  SharedWindowsTest() {
    for (int i = 0; i < 4; ++i) {
      const metric::PodKey pod{"shop", fmt::format("web-{}", i)};
      pods_.AddPod(pod);
      pods_.SetWorkloadOf(pod, "web");
      keys_.push_back(pod);
    }
  }
  /// One flush of every pod, seen by every replica.
  void Flush(std::vector<ReplicaOfOurs*> replicas) {
    std::this_thread::sleep_for(kFlushInterval);
    ++flush_;
    for (size_t i = 0; i < keys_.size(); ++i) {
      replicas[i % replicas.size()]->Push(keys_[i], static_cast<int64_t>(10 * i) + flush_ % 7);
    }
    for (ReplicaOfOurs* replica : replicas) replica->Settle();
    for (ReplicaOfOurs* replica : replicas) replica->Poll();
  }

  redis::RedisServer server_;
  kube::FakePodIndex pods_;
  std::vector<metric::PodKey> keys_;
  int flush_ = 0;
};

constexpr const char* kQueries[] = {
    "count_over_time(inbound_active_requests[1m])",
    "max_over_time(inbound_active_requests[1m])",
    "quantile_over_time(0.75, inbound_active_requests[1m])",
    "sum(inbound_active_requests)",
    "sum(avg_over_time(inbound_active_requests[1m]))",
};

TEST_F(SharedWindowsTest, ReplicasAgreeOnEveryWindowAndTheDeathOfOneShrinksNone) {
  auto one = std::make_unique<ReplicaOfOurs>(server_, pods_, 0ns);
  ReplicaOfOurs two(server_, pods_, std::chrono::hours(1));  // by its own clock
  for (const char* query : kQueries) {
    one->Ask(query);
    two.Ask(query);
  }
  for (int i = 0; i < 8; ++i) Flush({one.get(), &two});
  for (const char* query : kQueries) {
    EXPECT_EQ(one->Ask(query), two.Ask(query)) << query;
  }
  EXPECT_EQ(two.Ask(kQueries[0]), "web-0=8 web-1=8 web-2=8 web-3=8 ");

  // The first one dies; its Envoys open their streams at the second one.
  one.reset();
  for (int i = 0; i < 2; ++i) Flush({&two});
  EXPECT_EQ(two.Ask(kQueries[0]), "web-0=10 web-1=10 web-2=10 web-3=10 ");

  EXPECT_EQ(two.Check(), "ok");
  server_.Kill();
  two.Poll();
  EXPECT_NE(two.Check().find("Redis does not answer"), std::string::npos) << two.Check();
}

}  // namespace
}  // namespace activescale::signal
