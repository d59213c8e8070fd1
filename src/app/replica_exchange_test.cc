#include "app/replica_exchange.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "activescale/exchange/v1/entry.pb.h"
#include "base/testing/fake_clock.h"
#include "base/unix_time.h"
#include "io/prometheus/write/v1/remote.pb.h"
#include "kube/testing/fake_pod_index.h"
#include "promql/engine.h"
#include "signal/evaluator.h"
#include "source/remote_write.h"

namespace activescale::app {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// The log of some replicas in one process: an entry reaches all others when Deliver is called.
class FakeNetwork {
 public:
  class Log final : public store::SharedLog {
   public:
    explicit Log(FakeNetwork& network) : network_(network) {}
    bool Append(std::string entry) override {
      network_.entries_.emplace_back(this, std::move(entry));
      return true;
    }
    void Read(Reader reader) override { reader_ = std::move(reader); }

   private:
    friend class FakeNetwork;
    FakeNetwork& network_;
    Reader reader_;
  };

  explicit FakeNetwork(const base::Clock& clock) : clock_(clock) {}
  std::unique_ptr<Log> Join() {
    auto log = std::make_unique<Log>(*this);
    logs_.push_back(log.get());
    return log;
  }
  /// What was appended so far, to all others.
  size_t Deliver() {
    const auto entries = std::exchange(entries_, {});
    for (const auto& [from, entry] : entries) {
      for (const Log* log : logs_) {
        if (log != from) log->reader_(entry, clock_.Now());
      }
    }
    return entries.size();
  }

 private:
  const base::Clock& clock_;
  std::vector<Log*> logs_;
  std::vector<std::pair<Log*, std::string>> entries_;
};

/// The same steady clock, another calendar.
class AheadClock final : public base::Clock {
 public:
  AheadClock(const base::Clock& clock, std::chrono::nanoseconds by) : clock_(clock), by_(by) {}
  [[nodiscard]] base::SteadyTime Now() const override { return clock_.Now(); }
  [[nodiscard]] base::WallTime WallNow() const override {
    return clock_.WallNow() + std::chrono::duration_cast<base::WallTime::duration>(by_);
  }

 private:
  const base::Clock& clock_;
  const std::chrono::nanoseconds by_;
};

class Stream final : public keda::ActivityListener {
 public:
  void OnActivity(bool active) override { told.push_back(active); }
  std::vector<bool> told;
};

class Replica {
 public:
  Replica(FakeNetwork& network, const base::Clock& true_clock, uint64_t seed,
          std::chrono::nanoseconds ahead = 0ns)
      : clock_(true_clock, ahead), log_(network.Join()) {
    pods_.AddPod(gateway_);
    pods_.SetWorkloadOf(gateway_, "gateway");
    exchange_ = std::make_unique<ReplicaExchange>(ReplicaExchange::Parts{.series = series_,
                                                                         .stats = &stats_,
                                                                         .activity = activity_,
                                                                         .rules = {},
                                                                         .clock = clock_,
                                                                         .seed = seed},
                                                  *log_, registry_);
    log_->Read([this](std::string_view entry, base::SteadyTime written) {
      exchange_->Take(entry, written);
    });
    stats_.SetListener(
        [this](const signal::StatFeed::Message& message) { exchange_->TellStats(message); });
    written_.SetListener([this](std::string text) { exchange_->TellWritten(std::move(text)); });
    exchange_->SetWritten(
        [this](std::string_view message) { static_cast<void>(written_.Take(message)); });
  }

  std::string Ask(const std::string& query) {
    const auto result = engine_.Query(query, promql::EvaluationTime::At(base::UnixMsNow(clock_)));
    if (!result) return result.error().message;
    return result->series.empty() ? "nothing"
                                  : fmt::format("{}", result->series[0].points[0].value);
  }
  void Push(double value) {
    const metric::ChosenStat stat{.name = "cluster.queue.upstream_rq_active", .value = value};
    stats_.Take(gateway_, {&stat, 1}, clock_.Now(), true);
  }
  int Write(const std::string& name, double value) {
    io::prometheus::write::v1::WriteRequest request;
    auto& series = *request.add_timeseries();
    series.add_labels()->set_name("__name__");
    series.mutable_labels(0)->set_value(name);
    auto& sample = *series.add_samples();
    sample.set_value(value);
    sample.set_timestamp(base::UnixMsNow(clock_));
    return written_
        .Answer({.method = "POST",
                 .target = "/api/v1/write",
                 .headers = {{"content-encoding", "snappy"},
                             {"content-type", "application/x-protobuf"}},
                 .body = Literal(request.SerializeAsString())})
        .status;
  }
  std::shared_ptr<Stream> Wait(const std::string& query, double activation) {
    auto stream = std::make_shared<Stream>();
    keda::ScaledObject object{.ns = "shop",
                              .name = "web",
                              .metadata = {{"query", query},
                                           {"threshold", "1"},
                                           {"activationThreshold", fmt::format("{}", activation)}}};
    auto trigger = keda::ParseTrigger(object, {});
    EXPECT_TRUE(trigger);
    EXPECT_TRUE(activity_.Add(stream, *std::move(trigger), object));
    return stream;
  }
  void Look() { activity_.Tick(); }
  [[nodiscard]] ReplicaExchange& exchange() { return *exchange_; }
  double Refused(const std::string& reason) {
    return registry_.AddCounter("activescale_exchange_refused_total", "", {{"reason", reason}})
        .Value();
  }

 private:
  /// As snappy's block format: the length, and literals.
  static std::string Literal(const std::string& text) {
    EXPECT_LT(text.size(), 60U);
    std::string out(1, static_cast<char>(text.size()));
    out += static_cast<char>((text.size() - 1) << 2);
    return out + text;
  }

  const metric::PodKey gateway_{"edge", "gateway-0"};
  AheadClock clock_;
  telemetry::Registry registry_;
  kube::FakePodIndex pods_;
  series::SeriesStore series_{{}, clock_};
  promql::Engine engine_{{}, series_, clock_};
  signal::StatFeed stats_{
      {}, *metric::StatChooser::Make({"cluster\\..*"}), pods_, series_, clock_, registry_};
  source::RemoteWrite written_{series_, registry_};
  signal::Evaluator evaluator_{{}, series_, nullptr, clock_};
  signal::SignalReader reader_{evaluator_, registry_};
  keda::Scaler scaler_{[] { return std::make_shared<const signal::Catalogue>(); }, reader_};
  keda::ActivityWatch activity_{scaler_, clock_, 16};
  std::unique_ptr<FakeNetwork::Log> log_;
  std::unique_ptr<ReplicaExchange> exchange_;
};

class ReplicaExchangeTest : public testing::Test {
 protected:
  /// Lets all tell, and brings it to all.
  size_t Exchange() {
    clock_.Advance(1s);
    for (Replica* replica : {&one_, &two_}) replica->exchange().Tick();
    return network_.Deliver();
  }

  base::FakeClock clock_;
  FakeNetwork network_{clock_};
  Replica one_{network_, clock_, 1};
  Replica two_{network_, clock_, 2};
};

constexpr const char* kQueued = "max_over_time(envoy_cluster_queue_upstream_rq_active[1m])";

TEST_F(ReplicaExchangeTest, WhatWasAskedOfOneReplicaIsRecordedByAll) {
  EXPECT_EQ(one_.Ask(kQueued), "nothing");
  Exchange();
  // Nobody ever asked the second one, which gets the pushes.
  two_.Push(7);
  Exchange();
  EXPECT_EQ(one_.Ask(kQueued), "7");
  EXPECT_EQ(two_.Ask(kQueued), "7") << "recorded before the first question";
}

TEST_F(ReplicaExchangeTest, StatsAndWrittenSamplesCountTheSameAtEveryReplica) {
  one_.Ask(kQueued);
  one_.Ask("queue_length");
  Exchange();
  one_.Push(3);
  clock_.Advance(1s);
  two_.Push(9);  // its Envoy went there
  EXPECT_EQ(one_.Write("queue_length", 12), 204);
  Exchange();
  for (Replica* replica : {&one_, &two_}) EXPECT_EQ(replica->Ask(kQueued), "9");
  for (Replica* replica : {&one_, &two_}) EXPECT_EQ(replica->Ask("queue_length"), "12");
}

TEST_F(ReplicaExchangeTest, StatsAreDatedByTheClockOfTheReplicaThatRecordsThem) {
  Replica ahead(network_, clock_, 3, std::chrono::hours(1));
  ahead.Ask(kQueued);
  ahead.exchange().Tick();
  network_.Deliver();
  one_.Push(3);
  Exchange();
  EXPECT_EQ(ahead.Ask(kQueued), "3");
}

TEST_F(ReplicaExchangeTest, WhatNobodyAskedForIsNotToldToOthers) {
  one_.Ask("something_else");
  Exchange();
  one_.Write("queue_length", 12);
  one_.Push(4);
  EXPECT_EQ(Exchange(), 0U);
}

TEST_F(ReplicaExchangeTest, ASelectorIsToldWhenItsWindowGrowsAndOnceAMinuteOfItsUse) {
  one_.Ask("queue_length");
  EXPECT_EQ(Exchange(), 1U);
  one_.Ask("queue_length");
  EXPECT_EQ(Exchange(), 0U) << "known already";
  one_.Ask("max_over_time(queue_length[30m])");
  EXPECT_EQ(Exchange(), 1U);
  for (int i = 0; i < 58; ++i) Exchange();
  one_.Ask("queue_length");
  clock_.Advance(2s);
  EXPECT_EQ(Exchange(), 1U);
  clock_.Advance(5min);
  EXPECT_EQ(Exchange(), 0U) << "nobody asked again";
}

TEST_F(ReplicaExchangeTest, ReplicasDoNotKeepEachOthersSelectorsAlive) {
  one_.Ask("queue_length");
  size_t told = 0;
  for (int i = 0; i < 300; ++i) told += Exchange();
  EXPECT_EQ(told, 1U);
}

TEST_F(ReplicaExchangeTest, TheReplicaThatGetsTheFlushWakesTheOneThatHasTheStream) {
  const auto stream = one_.Wait("sum(envoy_cluster_queue_upstream_rq_active)", 0);
  one_.Look();
  Exchange();
  two_.Look();
  Exchange();
  two_.Push(0);
  two_.Look();
  EXPECT_FALSE(one_.exchange().TakeWakeUp());
  clock_.Advance(1s);
  two_.Push(4);
  clock_.Advance(1s);
  two_.Look();
  Exchange();
  EXPECT_TRUE(one_.exchange().TakeWakeUp());
  EXPECT_FALSE(one_.exchange().TakeWakeUp()) << "once";
  one_.Look();
  ASSERT_FALSE(stream->told.empty());
  EXPECT_TRUE(stream->told.back());
}

TEST_F(ReplicaExchangeTest, ATriggerOfAReplicaThatIsGoneIsForgotten) {
  one_.Wait("sum(envoy_cluster_queue_upstream_rq_active)", 0);
  Exchange();
  // The first replica dies: it tells nothing any more.
  for (int i = 0; i < 240; ++i) {
    clock_.Advance(1s);
    two_.exchange().Tick();
  }
  two_.Ask(kQueued);
  two_.Push(4);
  two_.Look();
  two_.exchange().Tick();
  network_.Deliver();
  EXPECT_FALSE(one_.exchange().TakeWakeUp());
}

TEST_F(ReplicaExchangeTest, WhatCannotBeUnderstoodIsCountedAndChangesNothing) {
  one_.exchange().Take("\xff\xff\xff", clock_.Now());
  EXPECT_EQ(one_.Refused("malformed"), 1);

  exchange::v1::Entry entry;
  auto* const selector = entry.add_selectors();
  auto* const matcher = selector->add_matchers();
  matcher->set_label("__name__");
  matcher->set_op("~=");                         // of a later version
  entry.add_triggers()->set_namespace_("shop");  // without metadata
  entry.add_stats()->add_stats()->add_labels("no value");
  one_.exchange().Take(entry.SerializeAsString(), clock_.Now());
  EXPECT_EQ(one_.Refused("unusable"), 2);
  EXPECT_EQ(one_.Ask(kQueued), "nothing");
}

}  // namespace
}  // namespace activescale::app
