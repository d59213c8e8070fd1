#include "store/embedded_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/testing/fake_clock.h"

namespace activescale::store {
namespace {

using metric::MetricKind;
using metric::PodKey;
using metric::Quantity;
using State = PodReading::State;
using std::chrono::seconds;
using testing::ElementsAre;

constexpr auto kIn = MetricKind::kInboundActiveRequests;
constexpr auto kOut = MetricKind::kOutboundActiveRequests;

Flush Inbound(int64_t value) {
  Flush flush;
  flush.values[0] = Quantity::FromMilli(value * 1000);
  return flush;
}

class EmbeddedStoreTest : public testing::Test {
 protected:
  PodReading Read(const PodKey& pod, MetricKind kind = kIn) {
    PodReading reading;
    store_.Read({pod}, kind, [&](base::Result<ReadResult> result) {
      ASSERT_TRUE(result.has_value());
      ASSERT_EQ(result->readings.size(), 1u);
      EXPECT_FALSE(result->partial);
      reading = result->readings[0];
    });
    return reading;
  }

  /// "7", "zero" for a synthesized one, "missing".
  std::string Say(const PodKey& pod, MetricKind kind = kIn) {
    const PodReading reading = Read(pod, kind);
    switch (reading.state) {
      case State::kMissing:
        return "missing";
      case State::kSynthesizedZero:
        return "zero";
      case State::kValue:
        return std::to_string(reading.value.milli() / 1000);
    }
    return "?";
  }

  void ExpireAll() {
    for (size_t i = 0; i < EmbeddedStore::kTurn; ++i) store_.Expire(clock_.Now());
  }

  base::FakeClock clock_;
  telemetry::Registry registry_;
  EmbeddedStore store_{{.ttl = seconds(20), .max_pods = 200'000}, clock_, registry_};
  const PodKey web_{"shop", "web-0"};
};

TEST_F(EmbeddedStoreTest, UnknownPodIsMissing) { EXPECT_EQ(Say(web_), "missing"); }

TEST_F(EmbeddedStoreTest, OpenStreamWithoutMessageIsMissing) {
  const auto stream = store_.Open(web_);
  EXPECT_EQ(Say(web_), "missing");
}

TEST_F(EmbeddedStoreTest, FreshHeartbeatWithoutSampleIsZero) {
  const auto stream = store_.Open(web_);
  EXPECT_EQ(stream->Heartbeat(clock_.Now()), WriteOutcome::kStored);
  EXPECT_EQ(Say(web_), "zero");
  EXPECT_EQ(Read(web_).received, clock_.Now());
}

TEST_F(EmbeddedStoreTest, ExpiredHeartbeatIsMissingNotZero) {
  const auto stream = store_.Open(web_);
  stream->Write(Inbound(0), clock_.Now());
  clock_.Advance(seconds(21));
  EXPECT_EQ(Say(web_), "missing");
  EXPECT_EQ(Say(web_, kOut), "missing");
}

// Case B3.
TEST_F(EmbeddedStoreTest, ValueOlderThanTtlIsNeverServed) {
  const auto stream = store_.Open(web_);
  stream->Write(Inbound(7), clock_.Now());
  clock_.Advance(seconds(20) - std::chrono::nanoseconds(1));
  EXPECT_EQ(Say(web_), "7");
  clock_.Advance(std::chrono::nanoseconds(1));
  EXPECT_EQ(Say(web_), "missing");
}

TEST_F(EmbeddedStoreTest, EachMetricHasItsOwnAge) {
  const auto stream = store_.Open(web_);
  stream->Write(Inbound(7), clock_.Now());
  clock_.Advance(seconds(15));
  Flush outbound;
  outbound.values[1] = Quantity::FromMilli(2000);
  stream->Write(outbound, clock_.Now());
  EXPECT_EQ(Say(web_, kIn), "7") << "absent from a flush: keeps its value";
  EXPECT_EQ(Say(web_, kOut), "2");
  clock_.Advance(seconds(6));
  EXPECT_EQ(Say(web_, kIn), "zero") << "until its own TTL";
  EXPECT_EQ(Say(web_, kOut), "2");
}

// Case B2: an old connection that is half open, and its pod created again under the same name.
TEST_F(EmbeddedStoreTest, LateMessageOfOlderStreamChangesNothing) {
  const auto old_stream = store_.Open(web_);
  old_stream->Write(Inbound(40), clock_.Now());
  const auto new_stream = store_.Open(web_);
  EXPECT_EQ(new_stream->Write(Inbound(2), clock_.Now()), WriteOutcome::kStored);
  clock_.Advance(seconds(1));
  EXPECT_EQ(old_stream->Write(Inbound(40), clock_.Now()), WriteOutcome::kSuperseded);
  EXPECT_EQ(old_stream->Heartbeat(clock_.Now()), WriteOutcome::kSuperseded);
  EXPECT_EQ(Say(web_), "2");
}

TEST_F(EmbeddedStoreTest, OlderOpenStreamTakesOverWhenNewestCloses) {
  const auto first = store_.Open(web_);
  const auto second = store_.Open(web_);
  auto third = store_.Open(web_);
  third->Write(Inbound(3), clock_.Now());
  third.reset();
  EXPECT_EQ(first->Write(Inbound(1), clock_.Now()), WriteOutcome::kStored);
  EXPECT_EQ(second->Write(Inbound(2), clock_.Now()), WriteOutcome::kStored);
  EXPECT_EQ(first->Write(Inbound(1), clock_.Now()), WriteOutcome::kSuperseded)
      << "the newest of those that still write";
  EXPECT_EQ(Say(web_), "2");
}

TEST_F(EmbeddedStoreTest, ClosingOlderStreamDoesNotReleaseTheNewest) {
  const auto oldest = store_.Open(web_);
  auto middle = store_.Open(web_);
  const auto newest = store_.Open(web_);
  newest->Write(Inbound(5), clock_.Now());
  middle.reset();
  EXPECT_EQ(oldest->Write(Inbound(9), clock_.Now()), WriteOutcome::kSuperseded);
  EXPECT_EQ(Say(web_), "5");
}

TEST_F(EmbeddedStoreTest, SilentOwnerKeepsItsRightThroughExpiry) {
  const auto old_stream = store_.Open(web_);
  const auto new_stream = store_.Open(web_);
  new_stream->Write(Inbound(5), clock_.Now());
  clock_.Advance(seconds(60));
  ExpireAll();
  EXPECT_EQ(old_stream->Write(Inbound(40), clock_.Now()), WriteOutcome::kSuperseded);
  EXPECT_EQ(Say(web_), "missing");
}

TEST_F(EmbeddedStoreTest, ValuesStayUntilTheirTtlAfterTheStreamCloses) {
  store_.Open(web_)->Write(Inbound(5), clock_.Now());
  EXPECT_EQ(Say(web_), "5");
  clock_.Advance(seconds(20));
  EXPECT_EQ(Say(web_), "missing");
}

TEST_F(EmbeddedStoreTest, ReadAnswersInTheOrderAsked) {
  const PodKey a{"shop", "a"};
  const PodKey b{"shop", "b"};
  const auto stream_a = store_.Open(a);
  const auto stream_b = store_.Open(b);
  stream_a->Write(Inbound(1), clock_.Now());
  stream_b->Write(Inbound(2), clock_.Now());
  std::vector<State> states;
  std::vector<int64_t> values;
  store_.Read({b, web_, a, b}, kIn, [&](base::Result<ReadResult> result) {
    for (const PodReading& reading : result->readings) {
      states.push_back(reading.state);
      values.push_back(reading.value.milli());
    }
  });
  EXPECT_THAT(states, ElementsAre(State::kValue, State::kMissing, State::kValue, State::kValue));
  EXPECT_THAT(values, ElementsAre(2000, 0, 1000, 2000));
}

TEST_F(EmbeddedStoreTest, SameNameInAnotherNamespaceIsAnotherPod) {
  const auto stream = store_.Open(web_);
  stream->Write(Inbound(1), clock_.Now());
  EXPECT_EQ(Say({"test", "web-0"}), "missing");
}

TEST_F(EmbeddedStoreTest, ExpireRemovesClosedPodsAndKeepsOpenAndFreshOnes) {
  const auto open = store_.Open({"shop", "open"});
  store_.Open({"shop", "gone"})->Write(Inbound(1), clock_.Now());
  clock_.Advance(seconds(15));
  store_.Open({"shop", "fresh"})->Write(Inbound(1), clock_.Now());
  clock_.Advance(seconds(6));
  ExpireAll();
  EXPECT_EQ(store_.pod_count(), 2u);
  EXPECT_EQ(Say({"shop", "fresh"}), "1");
}

TEST_F(EmbeddedStoreTest, PodsAboveTheBoundAreDroppedCountedAndTakenWhenThereIsRoom) {
  // On the heap: the fake stack of g++ 12's address sanitizer aligns to 32 bytes only.
  const auto owned = std::make_unique<EmbeddedStore>(
      EmbeddedStoreOptions{.ttl = seconds(20), .max_pods = 1}, clock_, registry_);
  EmbeddedStore& store = *owned;
  auto first = store.Open({"shop", "a"});
  const auto second = store.Open({"shop", "b"});
  EXPECT_EQ(second->Write(Inbound(1), clock_.Now()), WriteOutcome::kDropped);
  EXPECT_THAT(registry_.Render(),
              testing::HasSubstr("activescale_store_dropped_writes_total{reason=\"max_pods\"} "
                                 "2"));
  first.reset();
  clock_.Advance(seconds(20));
  for (size_t i = 0; i < EmbeddedStore::kTurn; ++i) store.Expire(clock_.Now());
  EXPECT_EQ(second->Write(Inbound(1), clock_.Now()), WriteOutcome::kStored);
}

/// Resident memory of this process.
size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t total_pages = 0;
  size_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST_F(EmbeddedStoreTest, MemoryIsGivenBackAfterManyPodsCameAndWent) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator keeps freed memory";
#endif
  const size_t used_before = mallinfo2().uordblks;
  const size_t resident_before = ResidentBytes();
  for (int i = 0; i < 100'000; ++i) {
    const PodKey pod{"shop", "web-7d4b9c6f5d-" + std::to_string(i)};
    store_.Open(pod)->Write(Inbound(1), clock_.Now());
  }
  EXPECT_EQ(store_.pod_count(), 100'000u);
  clock_.Advance(seconds(20));
  ExpireAll();
  EXPECT_EQ(store_.pod_count(), 0u);
  EXPECT_LE(mallinfo2().uordblks, used_before + (size_t{1} << 20));
  EXPECT_LE(ResidentBytes(), resident_before * 6 / 5 + (size_t{10} << 20));
}

TEST_F(EmbeddedStoreTest, EightThreadsOpenWriteReadAndExpire) {
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 2'000; ++i) {
        const PodKey pod{"shop", "web-" + std::to_string(i % 16)};
        const auto stream = store_.Open(pod);
        stream->Write(Inbound(t), clock_.Now());
        store_.Read({pod}, kIn, [](base::Result<ReadResult> result) {
          EXPECT_NE(result->readings[0].state, State::kMissing);
        });
        if (t == 0) store_.Expire(clock_.Now());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_.pod_count(), 16u);
}

}  // namespace
}  // namespace activescale::store
